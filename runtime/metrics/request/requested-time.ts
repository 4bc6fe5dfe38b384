import { refuseField } from "../../errors/refusal.ts";
import { parseDuration } from "./duration.ts";
import { parseTime } from "./time.ts";

/** A time as a request names it: Unix milliseconds, or a distance to the time of the request. */
export type RequestedTime = { readonly atMs: number } | { readonly agoMs: number };

/** The forms of a time, for errors. */
const forms = "use 2026-01-31T12:00:00Z, Unix seconds such as 1769860800, or now-3h";
const local = /^(?<time>\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)$/u;
const withOffset =
  /^(?<time>\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)(?<sign>[+\- ])(?<hours>\d{2}):?(?<minutes>[0-5]\d)$/u;
const unixSeconds = /^\d{1,12}(?:\.\d{1,9})?$/u;
const relative = /^now(?:(?<sign>[+\- ])(?<distance>\d{1,9}[a-z]))?$/u;
/** The end of the year 9999. */
const latestMs = 253_402_300_799_999;
/** Greatest offset of a time zone. Source: RFC 3339 §5.6. */
const offsetHoursMax = 23;

/**
 * Parses a time: ISO 8601 in UTC, or with an offset such as `+02:00`; Unix seconds; `now`, or a distance to it such as
 * `now-3h`. The `+` of an offset may be a space, which an unescaped `+` of a URL is decoded to. Undefined for any other
 * text, and for a day that does not exist.
 */
export function parseRequestedTime(text: string): RequestedTime | undefined {
  const atMs = parseTime(text.replace(/t(?=\d)/u, "T").replace(/z$/u, "Z")) ?? atOffset(text) ?? ofSeconds(text);
  return atMs === undefined ? relativeTime(text) : { atMs };
}

/** A time of a request in Unix milliseconds. */
export function timeAt(time: RequestedTime, nowMs: number): number {
  return "atMs" in time ? time.atMs : Math.max(0, nowMs - time.agoMs);
}

/**
 * Builds the refusal of a text that is no time.
 *
 * @param shown the text as an error may show it
 */
export function wrongTime(name: string, text: string, shown: string): Error {
  return refuseField("invalid_time", name, `${name}=${shown} is not a time; ${adviceOn(text)}`);
}

function adviceOn(text: string): string {
  const { time } = local.exec(text)?.groups ?? {};
  if (time !== undefined) return `it has no time zone: write ${time}Z for UTC, or an offset such as ${time}+02:00`;
  if (/^\d{13}$/u.test(text)) return `it has the length of milliseconds: write seconds, ${text.slice(0, -3)}`;
  if (/^\d{4}-\d{2}-\d{2}$/u.test(text)) return `it has no time of day: write ${text}T00:00:00Z`;
  if (/^-?\d{1,9}[smhd]$/u.test(text)) return `write now-${text.replace("-", "")}`;
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
  const { sign, distance } = found.groups ?? {};
  if (distance === undefined) return { agoMs: 0 };
  const seconds = parseDuration(distance);
  if (seconds === undefined) return undefined;
  return { agoMs: (sign === "-" ? seconds : -seconds) * 1_000 };
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
  const at = (time: RequestedTime | undefined) => (time === undefined ? undefined : timeAt(time, nowMs));
  return { fromMs: at(from), toMs: at(to), stepSeconds };
}
