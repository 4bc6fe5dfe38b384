import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Link, useQueryState } from "../router/router.tsx";
import { inputTime, parseInputTime, type TimeZone } from "./format.ts";
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
  const form = useEscape<HTMLFormElement>(onClose);
  const start = useRef<HTMLInputElement>(null);
  const end = useRef<HTMLInputElement>(null);
  const apply = (event: SubmitEvent): void => {
    event.preventDefault();
    const [from, to] = [start.current, end.current];
    if (from === null || to === null) return;
    const nowMs = Date.now();
    const [first, last] = [typedTime(from.value, zone, nowMs), typedTime(to.value, zone, nowMs, true)];
    from.setCustomValidity(faultOf(first, last));
    to.setCustomValidity(faultOf(last));
    if (form.current?.reportValidity() !== true) return;
    const range = { from: first?.text ?? null, to: last?.text ?? null };
    state.set({ range: null, ...range, cursor: null, page: null });
  };
  // A preset ends now, which must not overwrite what somebody types. Without an end, the range continues to now.
  const [range] = useState({ ...current, to: state.get("to") === "" ? "" : current.to });
  useLayoutEffect(() => {
    if (hasClick.current) start.current?.focus();
    hasClick.current = false;
  }, [hasClick]);
  const zoneName = zone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
  const input = (name: "from" | "to", label: string, placeholder: string): JSX.Element => (
    <label>
      <span>{`${label} (${zoneName})`}</span>
      <input
        ref={name === "from" ? start : end}
        type="text"
        autoComplete="off"
        spellcheck={false}
        maxLength={timeLengthMax}
        name={name}
        placeholder={placeholder}
        defaultValue={shownTime(range[name], zone)}
        onInput={({ currentTarget: field }) => field.setCustomValidity("")}
      />
    </label>
  );
  return (
    <form ref={form} class="custom-range" noValidate onSubmit={apply}>
      {input("from", "From", "2026-01-31 14:05 or now-2h")}
      {input("to", "To", "now")}
      <button type="submit">Apply</button>
    </form>
  );
}

const timeLengthMax = 64;

/** A time of an address in the format of every page, without its zone; a text that is no time as it is. */
function shownTime(at: string, zone: TimeZone): string {
  const shown = inputTime(at, zone);
  return shown === "" ? at : shown.replace("T", " ");
}

/** A time that was typed. */
interface TypedTime {
  /** For the address; null for an empty field. */
  readonly text: string | null;
  readonly ms: number;
}

/**
 * Reads a time: as pages show it, in the zone that they show unless it names another; or relative to now, which
 * stays relative. A time of day alone is of today. An empty field is no bound. Undefined for other text.
 */
export function typedTime(typed: string, zone: TimeZone, nowMs: number, isEnd = false): TypedTime | undefined {
  const text = typed.trim();
  if (text === "") return { text: null, ms: isEnd ? nowMs : Number.NEGATIVE_INFINITY };
  const dated = timeOfDay.test(text) ? `${inputTime(new Date(nowMs).toISOString(), zone).slice(0, 10)} ${text}` : text;
  const inZone = zonelessTime.test(dated) ? parseInputTime(zonelessText(dated), zone) : null;
  if (inZone !== null) return { text: inZone, ms: Date.parse(inZone) };
  const ms = readLinkTime(text, nowMs, isEnd);
  if (ms === undefined) return undefined;
  return { text: text.startsWith("now") ? text : new Date(ms).toISOString(), ms };
}

const timeOfDay = /^\d{2}:\d{2}(?::\d{2})?$/u;
const zonelessTime = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?$/u;

/** With a time of day: a date alone is midnight in the zone. */
function zonelessText(text: string): string {
  return text.includes(":") ? text.replace(" ", "T") : `${text}T00:00`;
}

/** What is wrong with a field; empty if nothing is. @param end the time has to be before it */
function faultOf(time: TypedTime | undefined, end?: TypedTime): string {
  if (time === undefined) return "Enter a time such as 14:05, 2026-01-31 14:05, now-2h or now/d.";
  return end !== undefined && time.ms >= end.ms ? "From must be before To." : "";
}
