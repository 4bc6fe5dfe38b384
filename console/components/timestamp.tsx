import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { formatDistance, formatTime } from "./format.ts";

/** Now, Unix milliseconds, anew after each step while the page is seen. */
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
  /** `time`: the time, with the distance on hover. `distance`: the other way round. @default "time" */
  readonly shows?: "time" | "distance";
}

/** A point in time. */
export function Timestamp({ at, shows = "time" }: TimestampProps): JSX.Element {
  const nowMs = useNow(distanceStepMs);
  if (at === null) return <span>–</span>;
  const distance = formatDistance(Date.parse(at), nowMs);
  const time = formatTime(at);
  return (
    <time dateTime={at} title={shows === "time" ? distance : time}>
      {shows === "time" ? time : distance}
    </time>
  );
}

interface CountdownProps {
  /** ISO 8601. */
  readonly to: string;
  /** What is said from then on. @default "due" */
  readonly over?: string;
}

/** The time until a moment, second by second. */
export function Countdown({ to, over = "due" }: CountdownProps): JSX.Element {
  const nowMs = useNow(countdownStepMs);
  const atMs = Date.parse(to);
  return (
    <time dateTime={to} title={formatTime(to)}>
      {atMs <= nowMs ? over : formatDistance(atMs, nowMs)}
    </time>
  );
}
