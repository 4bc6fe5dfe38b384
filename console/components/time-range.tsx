import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Link, useQueryState } from "../router/router.tsx";
import { inputTime, parseInputTime } from "./format.ts";
import { readLinkTime } from "../router/link-time.ts";
import { usePreferences } from "./preferences.tsx";
import { useEscape } from "./panel.tsx";

/** Ranges up to now, the shortest first. */
export const timePresets = [
  { name: "15m", label: "15 min", seconds: 900 },
  { name: "1h", label: "1 h", seconds: 3_600 },
  { name: "24h", label: "24 h", seconds: 86_400 },
  { name: "7d", label: "7 d", seconds: 604_800 },
] as const;

type PresetName = (typeof timePresets)[number]["name"];

/** The time range of an address: `range=1h`, or `from` and `to`. */
export interface TimeRange {
  /** A preset; undefined for a custom range. */
  readonly preset: PresetName | undefined;
  /** ISO 8601. */
  readonly from: string;
  readonly to: string;
}

/**
 * The range of an address. `from` and `to` win over `range`; a missing end is now, and a missing start is the length of
 * the default before the end.
 */
export function timeRangeOf(query: URLSearchParams, nowMs: number, standard: PresetName = "24h"): TimeRange {
  const [from, to] = [query.get("from") ?? "", query.get("to") ?? ""];
  const named = namedRange(query.get("range") ?? "") ?? presetOf(standard);
  const endMs = readLinkTime(to, nowMs, true) ?? nowMs;
  const iso = (ms: number): string => new Date(ms).toISOString();
  const spanMs = named.seconds * 1_000;
  if (from === "" && to === "") return { preset: named.name, from: iso(endMs - spanMs), to: iso(endMs) };
  const startMs = readLinkTime(from, nowMs) ?? endMs - spanMs;
  // The server names a text that is no time; a default in its place would show other data.
  const shown = (text: string, ms: number): string =>
    text === "" || readLinkTime(text, nowMs) !== undefined ? iso(ms) : text;
  return { preset: undefined, from: shown(from, startMs), to: shown(to, endMs) };
}

/** True if an address chooses a time range. */
export function hasTimeRange(query: URLSearchParams): boolean {
  return ["range", "from", "to"].some((name) => (query.get(name) ?? "") !== "");
}

interface NamedRange {
  /** Undefined for a range that no preset has, such as `6h` of a link. */
  readonly name: PresetName | undefined;
  readonly seconds: number;
}

const unitSeconds: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

/** The range of a preset or of a duration; undefined for another text. */
function namedRange(range: string): NamedRange | undefined {
  const preset = timePresets.find(({ name }) => name === range);
  if (preset !== undefined) return preset;
  const [, count, unit = ""] = /^(\d{1,4})([mhd])$/u.exec(range) ?? [];
  return count === undefined ? undefined : { name: undefined, seconds: Number(count) * (unitSeconds[unit] ?? 0) };
}

function presetOf(name: PresetName): (typeof timePresets)[number] {
  return timePresets.find((preset) => preset.name === name) ?? timePresets[2];
}

interface TimeRangeProps {
  /** The range without a choice; `all` has no bounds. @default "24h" */
  readonly standard?: PresetName | "all";
}

/** Presets and a custom range in one row. The choice is in the address; the page starts at its first items again. */
export function TimeRangePicker({ standard = "24h" }: TimeRangeProps): JSX.Element {
  const state = useQueryState();
  const range = timeRangeOf(state.query, Date.now(), standard === "all" ? "24h" : standard);
  const isAll = standard === "all" && !hasTimeRange(state.query);
  const isCustom = range.preset === undefined;
  const [isOpen, setOpen] = useState(isCustom);
  const hasClick = useRef(false);
  const toggle = (): void => {
    hasClick.current = !isOpen;
    setOpen(!isOpen);
  };
  // Other filters leave a range that is being typed as it is.
  const key = ["range", "from", "to"].map((name) => state.get(name)).join(" ");
  useEffect(() => setOpen(isCustom), [key]);
  const reset = { from: null, to: null, cursor: null, page: null };
  return (
    <div class="time-range" role="group" aria-label="Time range">
      {standard === "all" ? (
        <Link to={state.to({ ...reset, range: null })} class="choice" isCurrent={isAll}>
          All
        </Link>
      ) : null}
      {timePresets.map(({ name, label }) => (
        <Link
          key={name}
          to={state.to({ ...reset, range: name === standard ? null : name })}
          class="choice"
          isCurrent={!isAll && range.preset === name}
        >
          {label}
        </Link>
      ))}
      <button type="button" class={isCustom ? "choice current" : "choice"} aria-expanded={isOpen} onClick={toggle}>
        Custom
      </button>
      {isOpen ? <CustomRange key={key} range={range} hasClick={hasClick} onClose={() => setOpen(false)} /> : null}
    </div>
  );
}

interface CustomRangeProps {
  readonly range: TimeRange;
  /** True once after a click that opened it: the start then gets the focus. */
  readonly hasClick: { current: boolean };
  readonly onClose: () => void;
}

function CustomRange({ range: current, hasClick, onClose }: CustomRangeProps): JSX.Element {
  const state = useQueryState();
  const { zone } = usePreferences();
  const apply = (event: SubmitEvent): void => {
    event.preventDefault();
    const values = new FormData(event.currentTarget as HTMLFormElement);
    const time = (name: string): string | null => {
      const value = values.get(name);
      return typeof value === "string" ? parseInputTime(value, zone) : null;
    };
    state.set({ range: null, from: time("from"), to: time("to"), cursor: null, page: null });
  };
  const start = useRef<HTMLInputElement>(null);
  // A preset ends now, which must not overwrite what somebody types. Without an end, the range continues to now.
  const [range] = useState({ ...current, to: state.get("to") === "" ? "" : current.to });
  const panel = useEscape<HTMLFormElement>(onClose);
  const zoneLabel = zone === "utc" ? "UTC" : localZone();
  useEffect(() => {
    if (hasClick.current) start.current?.focus();
    hasClick.current = false;
  }, [hasClick]);
  const input = (name: "from" | "to", label: string): JSX.Element => (
    <label>
      <span>{label}</span>
      <input
        {...(name === "from" ? { ref: start } : {})}
        type="datetime-local"
        step={1}
        name={name}
        defaultValue={inputTime(range[name], zone)}
      />
    </label>
  );
  return (
    <form ref={panel} class="custom-range" onSubmit={apply}>
      {input("from", `From (${zoneLabel})`)}
      {input("to", `To (${zoneLabel}; empty: now)`)}
      <button type="submit">Apply</button>
    </form>
  );
}

/** Name of the browser's time zone, such as `Europe/Berlin`. */
function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
