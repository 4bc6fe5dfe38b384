import { durationUnits } from "../../../api/documents.ts";
import { invalidField } from "../../errors/api-error.ts";
import type { ErrorCode } from "../../errors/table.ts";
import { shown } from "./known-names.ts";
import { type Parameters, readOne } from "./parameters.ts";

const isoUtc = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?Z$/u;

/**
 * Parses an ISO 8601 UTC time such as `2026-01-01T00:00:00Z` into Unix milliseconds and cuts off finer digits. Returns
 * undefined for any other text and for a day that does not exist. Source: seed "Operational Metrics API" §4.1.
 */
export function parseTime(text: string): number | undefined {
  const [, seconds, fraction = ""] = isoUtc.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  const ms = Date.parse(`${seconds}.${fraction.slice(0, 3).padEnd(3, "0")}Z`);
  // Date.parse reads 30 February as 2 March, and 24:00 as the next day; the day of the result detects it.
  if (Number.isNaN(ms) || ms < 0 || new Date(ms).getUTCDate() !== Number(seconds.slice(8, 10))) return undefined;
  return ms;
}

const dayMs = 86_400_000;

/** Formats many times as {@link formatTime} does. It formats each day once, since most times share a day. */
export function formatTimes(times: readonly number[]): readonly string[] {
  let [day, prefix] = [Number.NaN, ""];
  return times.map((ms) => {
    const own = Math.floor(ms / dayMs);
    if (own !== day) [day, prefix] = [own, formatTime(own * dayMs).slice(0, -"00:00:00.000Z".length)];
    const rest = ms - own * dayMs;
    const seconds = Math.floor(rest / 1_000);
    const [hour, minute] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
    return `${prefix}${two(hour)}:${two(minute)}:${two(seconds % 60)}.${String(rest % 1_000).padStart(3, "0")}Z`;
  });
}

function two(number: number): string {
  return number < 10 ? `0${number}` : `${number}`;
}

/** Formats a time as ISO 8601 UTC with milliseconds, the form of every time in a response. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

const unitSeconds = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;
const weekSeconds = 7 * unitSeconds.d;

/** Longest duration that a request may name, in seconds: 10 years. */
const durationDaysMax = 3_660;
const durationSecondsMax = durationDaysMax * unitSeconds.d;

const parts = durationUnits.map((unit) => `(?:(?<${unit}>[1-9]\\d{0,8})${unit})?`);
const form = new RegExp(`^${parts.join("")}$`, "u");

/**
 * Parses a duration such as `10s`, `5m`, `1h30m` or `1w` into seconds; undefined for any other text. It takes whole
 * numbers, each with its unit, the largest unit first, as Prometheus does. Source: seed "Operational Metrics API" §4.1.
 */
export function parseDuration(text: string): number | undefined {
  const found = form.exec(text)?.groups;
  if (found === undefined || text === "") return undefined;
  const { w = "0", d = "0", h = "0", m = "0", s = "0" } = found;
  const days = Number(w) * weekSeconds + Number(d) * unitSeconds.d;
  const seconds = days + Number(h) * unitSeconds.h + Number(m) * unitSeconds.m + Number(s);
  return seconds <= durationSecondsMax ? seconds : undefined;
}

/** Why {@link parseDuration} rejects a text, in words that follow it. @param examples valid durations */
export function durationFault(text: string, examples: string): string {
  return text !== "" && form.test(text)
    ? `is longer than ${durationDaysMax}d, the longest duration`
    : `is not a duration; use one such as ${examples}`;
}

/** Prints whole seconds in their shortest spelling: 90 is `90s`, 120 is `2m`. */
export function formatDuration(seconds: number): string {
  for (const [unit, size] of Object.entries(unitSeconds))
    if (seconds >= size && seconds % size === 0) return `${seconds / size}${unit}`;
  return `${seconds}s`;
}

/** A calendar window, in the words of every surface: `calendar month (Europe/Berlin)`. The console prints the same. */
export function formatCalendar(period: "Month" | "Quarter", timeZone: string): string {
  return `calendar ${period.toLowerCase()} (${timeZone})`;
}

/** Prints durations of one sentence in one unit: the largest in which all are whole numbers. */
export function formatAlike(...seconds: readonly number[]): readonly string[] {
  const [unit, size] = unitOf(seconds);
  return seconds.map((one) => `${one / size}${unit}`);
}

/**
 * Prints a duration in the unit of its limit, the largest in which the limit is a whole number: `7.01d` above `7d`. It
 * is rounded up to two decimals.
 */
export function formatWithLimit(seconds: number, limitSeconds: number): readonly [length: string, limit: string] {
  const [unit, size] = unitOf([limitSeconds]);
  return [`${Math.ceil((seconds / size) * 100) / 100}${unit}`, `${limitSeconds / size}${unit}`];
}

function unitOf(seconds: readonly number[]): readonly [unit: string, seconds: number] {
  const found = Object.entries(unitSeconds).find(([, size]) => seconds.every((one) => one >= size && one % size === 0));
  return found ?? ["s", 1];
}

/**
 * A time as a request names it: Unix milliseconds, or a distance to the time of the request. That may be rounded to a
 * unit in UTC: a start and an instant to its start, the end of a window to its end.
 */
export type RequestedTime = { readonly atMs: number } | { readonly agoMs: number; readonly unitMs?: number };

/** The forms of a time, for errors. */
const forms = "use 2026-01-31T12:00:00Z, Unix seconds such as 1769860800, or now-3h";
const local = /^(?<time>\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)$/u;
const withOffset =
  /^(?<time>\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)(?<sign>[+\- ])(?<hours>\d{2}):?(?<minutes>[0-5]\d)$/u;
const unixSeconds = /^\d{1,12}(?:\.\d{1,9})?$/u;
const relative = /^now(?:(?<sign>[+\- ])(?<distance>[0-9a-z]{2,50}))?(?:\/(?<unit>[smhd]))?$/u;
const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** The end of the year 9999. */
const latestMs = 253_402_300_799_999;
/** Greatest offset of a time zone. Source: RFC 3339 §5.6. */
const offsetHoursMax = 23;

/**
 * Parses a time: ISO 8601 in UTC, or with an offset such as `+02:00`; Unix seconds; `now`, or a distance to it such as
 * `now-1h30m`, also rounded to a unit, as in `now-1d/d`. The `+` of an offset may be a space, which an unescaped `+` of
 * a URL is decoded to. Undefined for any other text, and for a day that does not exist.
 */
export function parseRequestedTime(text: string): RequestedTime | undefined {
  const atMs = parseTime(text.replace(/t(?=\d)/u, "T").replace(/z$/u, "Z")) ?? atOffset(text) ?? ofSeconds(text);
  return atMs === undefined ? relativeTime(text) : { atMs };
}

/** A time of a request in Unix milliseconds. */
export function timeAt(time: RequestedTime, nowMs: number): number {
  if ("atMs" in time) return time.atMs;
  const { agoMs, unitMs = 1 } = time;
  return Math.max(0, Math.floor((nowMs - agoMs) / unitMs) * unitMs);
}

/** The end of a window in Unix milliseconds. A rounded one is the end of its unit, as in Grafana. */
export function endAt(time: RequestedTime, nowMs: number): number {
  const unitMs = "atMs" in time ? 0 : (time.unitMs ?? 0);
  return timeAt(time, nowMs) + unitMs;
}

/**
 * Builds the rejection of a text that is no time.
 *
 * @param value the text as an error may show it
 */
export function wrongTime(name: string, text: string, value: string): Error {
  return invalidField("invalid_time", name, `${name}=${value} is not a time; ${adviceOn(text)}`);
}

function adviceOn(text: string): string {
  const { time } = local.exec(text)?.groups ?? {};
  if (time !== undefined) return `it has no time zone: write ${time}Z for UTC, or an offset such as ${time}+02:00`;
  if (/^\d{13}$/u.test(text)) return `it looks like milliseconds: use seconds, ${text.slice(0, -3)}`;
  if (/^\d{4}-\d{2}-\d{2}$/u.test(text)) return `it has no time of day: write ${text}T00:00:00Z`;
  if (/\/[wMyQ]$/u.test(text)) return "times can only be rounded to /s, /m, /h or /d: write the date instead";
  if (parseDuration(text.replace(/^-/u, "")) !== undefined) return `write now-${text.replace("-", "")}`;
  return forms;
}

function atOffset(text: string): number | undefined {
  const { time, sign, hours, minutes } = withOffset.exec(text)?.groups ?? {};
  const utcMs = time === undefined ? undefined : parseTime(`${time.replace("t", "T")}Z`);
  if (utcMs === undefined || Number(hours) > offsetHoursMax) return undefined;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  const ms = sign === "-" ? utcMs + offsetMs : utcMs - offsetMs;
  return ms >= 0 && ms <= latestMs ? ms : undefined;
}

function ofSeconds(text: string): number | undefined {
  if (!unixSeconds.test(text)) return undefined;
  const ms = Math.round(Number(text) * 1_000);
  return ms <= latestMs ? ms : undefined;
}

function relativeTime(text: string): RequestedTime | undefined {
  const found = relative.exec(text);
  if (found === null) return undefined;
  const { sign, distance, unit = "" } = found.groups ?? {};
  const seconds = distance === undefined ? 0 : parseDuration(distance);
  if (seconds === undefined) return undefined;
  const agoMs = sign === "-" ? seconds * 1_000 : 0 - seconds * 1_000;
  const unitMs = unitsMs[unit];
  return unitMs === undefined ? { agoMs } : { agoMs, unitMs };
}

/** Times of a query as the request names them. `last` has no other end than now. */
export interface RequestedTimes {
  readonly from: RequestedTime | undefined;
  readonly to: RequestedTime | undefined;
  readonly stepSeconds: number | undefined;
}

/** Times of a query in Unix milliseconds. */
export interface RequestedWindow {
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly stepSeconds: number | undefined;
}

/** The times of a query for a time at which it is handled. */
export function windowAt({ from, to, stepSeconds }: RequestedTimes, nowMs: number): RequestedWindow {
  return { fromMs: from && timeAt(from, nowMs), toMs: to && endAt(to, nowMs), stepSeconds };
}

/** Parses a duration into seconds; undefined without one. @throws ApiError that has valid examples */
export function readDuration(params: Parameters, name: string, code: ErrorCode, examples: string): number | undefined {
  const text = readOne(params, name, code);
  if (text === undefined) return undefined;
  const seconds = parseDuration(text);
  if (seconds !== undefined) return seconds;
  throw invalidField(code, name, `${name}=${shown(text)} ${durationFault(text, examples)}`);
}
