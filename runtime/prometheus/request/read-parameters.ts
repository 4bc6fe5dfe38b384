// Parameters of requests as Prometheus reads them: the first value counts, an empty one is none.
import { invalidField } from "../../errors/api-error.ts";
import { shown } from "../../metrics/request/known-names.ts";
import type { Parameters } from "../../metrics/request/parameters.ts";
import { parseTime } from "../../metrics/request/time.ts";
import type { PrometheusRequest } from "../prometheus-api.ts";

/** Times of a range of evaluations, in Unix milliseconds. */
export interface RangeTimes {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

/** Times of a look-up, in Unix milliseconds. */
export type LookUpTimes = Omit<RangeTimes, "stepMs">;

/** Points of one series. Source: Prometheus, `web/api/v1`. */
const pointsMax = 11_000;
/** The year 9999. Times of exemplars in milliseconds, which Grafana sends, end here too. */
const latestMs = 253_402_300_799_000;

/** The first value of a parameter; undefined without one and for an empty one. */
export function firstOf(params: Parameters, name: string): string | undefined {
  const [value = ""] = params.get(name) ?? [];
  return value === "" ? undefined : value;
}

/** The time of an instant query. @throws ApiError `invalid_time` */
export function readInstantTime(params: Parameters, nowMs: number): number {
  return readTime(params, "time") ?? nowMs;
}

/** The times of a range query. @throws ApiError `invalid_time`, `invalid_window`, `invalid_step` */
export function readRange(params: Parameters): RangeTimes {
  const [startMs, endMs] = [requiredTime(params, "start"), requiredTime(params, "end")];
  if (endMs < startMs)
    throw invalidField("invalid_window", "end", 'invalid parameter "end": end timestamp must not be before start time');
  const stepMs = readStep(params);
  if (Math.floor((endMs - startMs) / stepMs) + 1 > pointsMax + 1) throw tooManyPoints(startMs, endMs);
  return { startMs, endMs, stepMs };
}

/** The times of a look-up, within the past and the present. @throws ApiError `invalid_time` */
export function readLookUpTimes(params: Parameters, nowMs: number): LookUpTimes {
  const endMs = Math.min(readTime(params, "end") ?? nowMs, nowMs);
  const startMs = Math.min(readTime(params, "start") ?? endMs - lookUpMs, endMs - 1_000);
  return { startMs, endMs };
}

/**
 * False for a range that begins after now, which nothing is in. Times in milliseconds, which Grafana sends to find out
 * if there are exemplars, are clamped and count as before.
 *
 * @throws ApiError `invalid_time`
 */
export function isBeforeNow({ params, context }: Pick<PrometheusRequest, "params" | "context">): boolean {
  const startMs = readTime(params, "start");
  return startMs === undefined || startMs <= context.nowMs || startMs === latestMs;
}

/** Span of a look-up that names no start. */
const lookUpMs = 3_600_000;

/** A time of seconds or RFC 3339 as Unix milliseconds; undefined without one. @throws ApiError `invalid_time` */
function readTime(params: Parameters, name: string): number | undefined {
  const text = firstOf(params, name);
  if (text === undefined) return undefined;
  const ms = extremes.get(text) ?? (decimal.test(text) ? Math.round(Number(text) * 1_000) : ofRfc3339(text));
  if (ms !== undefined && Number.isFinite(ms)) return Math.min(Math.max(ms, 0), latestMs);
  const detail = `invalid parameter "${name}": cannot parse "${shown(text)}" to a valid timestamp`;
  throw invalidField("invalid_time", name, detail);
}

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?$/u;
/** The least and the greatest time of Go, which its clients send for no bound. Source: Prometheus, `web/api/v1`. */
const extremes: ReadonlyMap<string, number> = new Map([
  ["-292273086-05-16T16:47:06Z", 0],
  ["292277025-08-18T07:12:54.999999999Z", latestMs],
]);
const rfc3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/u;

function ofRfc3339(text: string): number | undefined {
  const [, local] = rfc3339.exec(text) ?? [];
  // Date.parse reads 30 February as 2 March; parseTime detects it.
  if (local === undefined || parseTime(`${local}Z`) === undefined) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

function requiredTime(params: Parameters, name: string): number {
  const ms = readTime(params, name);
  if (ms !== undefined) return ms;
  throw invalidField("invalid_time", name, `invalid parameter "${name}": the request has no ${name}`);
}

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 } as const;
const duration = /^(?:\d{1,9}(?:ms|[ywdhms]))+$/u;

/** Seconds, or a duration such as `1h30m`. @throws ApiError `invalid_step` */
function readStep(params: Parameters): number {
  const text = firstOf(params, "step");
  const ms = text === undefined ? undefined : stepOf(text);
  if (ms !== undefined && ms >= 1 && ms <= latestMs) return ms;
  const fault =
    text === undefined
      ? "the request has no step; set one such as 60s"
      : ms !== undefined && ms < 1
        ? "zero or negative query resolution step widths are not accepted. Try a positive integer"
        : `cannot parse "${shown(text)}" to a valid duration`;
  throw invalidField("invalid_step", "step", `invalid parameter "step": ${fault}`);
}

function stepOf(text: string): number | undefined {
  if (decimal.test(text)) return Math.round(Number(text) * 1_000);
  if (!duration.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+)(ms|[ywdhms])/gu)];
  return parts.reduce((sum, [, digits, unit]) => sum + Number(digits) * units[unit as keyof typeof units], 0);
}

/** The longest window of the default classes. A step helps no longer range. */
const windowMsMax = 400 * units.d;
/** Steps of which a metric's step is a multiple, or divides it. */
const niceSeconds = [3_600, 300, 60];

function tooManyPoints(startMs: number, endMs: number): Error {
  const least = Math.ceil((endMs - startMs) / pointsMax / 1_000);
  const unit = niceSeconds.find((seconds) => seconds <= least) ?? 1;
  const seconds = Math.ceil(least / unit) * unit;
  const advice =
    endMs - startMs > windowMsMax ? "Try a shorter range" : `Try decreasing the query resolution (?step=${seconds})`;
  return invalidField("invalid_step", "step", `exceeded maximum resolution of 11,000 points per timeseries. ${advice}`);
}

/** The bound on the items of a list; undefined without one and for 0. @throws ApiError `invalid_limit` */
export function readLimit(params: Parameters): number | undefined {
  const text = firstOf(params, "limit");
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/u.test(text)) return Number(text) === 0 ? undefined : Number(text);
  const detail = `invalid parameter "limit": "${shown(text)}" is not a non-negative integer`;
  throw invalidField("invalid_limit", "limit", detail);
}

/** The items up to the limit of a request, with the warning of Prometheus if it cuts some off. @throws ApiError */
export function limited<Item>(items: readonly Item[], params: Parameters) {
  const kept = items.slice(0, readLimit(params));
  return { kept, warnings: kept.length < items.length ? [truncated] : [] };
}

/** The warning about a list or a result that `limit` cut off. Source: Prometheus, `web/api/v1`. */
export const truncated = "results truncated due to limit";

/** True for a request that wants an error in place of a part of the data. */
export function isCompleteRequired(params: Parameters): boolean {
  return firstOf(params, "partial_response") === "false" || firstOf(params, "complete") === "required";
}
