import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { formatDistance } from "./format.ts";
import { useFormatTime } from "./preferences.tsx";

/** The current time in Unix milliseconds, updated after each step while the page is visible. */
export function useNow(stepMs: number): number {
  const [nowMs, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState !== "hidden") setNow(Date.now());
    }, stepMs);
    return () => clearInterval(timer);
  }, [stepMs]);
  return nowMs;
}

const distanceStepMs = 10_000;
const countdownStepMs = 1_000;

interface TimestampProps {
  /** ISO 8601. Null is a dash. */
  readonly at: string | null;
  /** `time`: the time, with its age on hover. `age`: the other way round. `both`: the age follows. @default "time" */
  readonly shows?: "time" | "age" | "both";
}

/** A time, in the zone that the person chose. */
export function Timestamp({ at, shows = "time" }: TimestampProps): JSX.Element {
  const nowMs = useNow(distanceStepMs);
  const formatTime = useFormatTime();
  if (at === null) return <span>–</span>;
  const age = formatDistance(Date.parse(at), nowMs);
  const time = formatTime(at);
  return (
    <time class="timestamp" dateTime={at} title={shows === "age" ? time : age}>
      {shows === "age" ? age : time}
      {shows === "both" ? <span class="quiet"> {age}</span> : null}
    </time>
  );
}

interface CountdownProps {
  /** ISO 8601. */
  readonly to: string;
  /** What is said from then on. @default "due" */
  readonly over?: string;
}

/** The time that is left, updated each second. */
export function Countdown({ to, over = "due" }: CountdownProps): JSX.Element {
  const nowMs = useNow(countdownStepMs);
  const formatTime = useFormatTime();
  const atMs = Date.parse(to);
  return (
    <time dateTime={to} title={formatTime(to)}>
      {atMs <= nowMs ? over : formatDistance(atMs, nowMs)}
    </time>
  );
}
