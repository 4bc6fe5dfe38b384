// Settlement: outcome of an attempt, its settlement, retry schedule and circuit breaker. It does no I/O.

import type { RetryConfig } from "../../../crds/config.ts";
import { outcomeCode, type FailureOutcome, type AttemptOutcome, type OutcomeCode } from "./outcome.ts";

/**
 * How an attempt settles its delivery. Source: seed "Webhook Event Delivery" §3 and §7.
 *
 * - `delivered`: any 2xx.
 * - `retry`: the next attempt starts at `atMs`, Unix milliseconds.
 * - `rejected`: the partner explicitly rejected this event.
 * - `dead`: the next attempt would come too late; the delivery is exhausted.
 * - `disabled`: 410; the delivery is dead-lettered and the partner gets nothing more until its resource is edited.
 *
 * `reason` is the code of the outcome; it is safe as a subject token.
 */
export type Settlement =
  | { readonly kind: "delivered" }
  | { readonly kind: "retry"; readonly atMs: number; readonly reason: OutcomeCode }
  | { readonly kind: "rejected"; readonly reason: OutcomeCode }
  | { readonly kind: "dead"; readonly reason: OutcomeCode }
  | { readonly kind: "disabled"; readonly reason: OutcomeCode };

/** The attempted delivery. */
interface AttemptedDelivery {
  /** Number of the attempt in its generation, from 1. A replay restarts the schedule, while `X-Attempt` counts on. */
  readonly attempt: number;
  /** Time at which the event or the replay was accepted; Unix milliseconds. */
  readonly acceptedAtMs: number;
}

/** Statuses with which a partner rejects an event for good. Source: seed "Webhook Event Delivery" §7. */
const rejectingStatuses: ReadonlySet<number> = new Set([400, 401, 403, 404, 422]);

/** Statuses whose `Retry-After` counts. Source: seed "Webhook Event Delivery" §7, RFC 9110 §10.2.3. */
const throttlingStatuses: ReadonlySet<number> = new Set([429, 503]);

const goneStatus = 410;

const secondMs = 1_000;

/** Wait between attempts after the end of the schedule. Source: seed "Webhook Event Delivery" §8 ("then daily"). */
const dailyWaitSeconds = 86_400;

/** Longest wait that a response can request, in milliseconds. The longest step of a schedule may bound it further. */
export const retryAfterMsMax = 86_400_000;

const monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const dayForm = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const longDayForm = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day";
const time = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;
/** The three forms of HTTP-date that a recipient must accept. Source: RFC 9110 §5.6.7. */
const dateForms = [
  new RegExp(String.raw`^${dayForm}, (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${time} GMT$`, "u"),
  new RegExp(String.raw`^${longDayForm}, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) ${time} GMT$`, "u"),
  new RegExp(String.raw`^${dayForm} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) ${time} (?<year>\d{4})$`, "u"),
];

/** Attempts of a ping: the first one and one retry. */
const pingAttemptsMax = 2;
/** The retry of a ping does not follow the schedule of its partner: a person waits for it. */
const pingRetryPolicy: RetryConfig = { scheduleSeconds: [5], maxAgeSeconds: 3_600, jitterPercent: 0 };

/**
 * Settles one attempt. `nowMs` is the time at which the outcome was known; `random` returns [0, 1) for the jitter.
 *
 * The next attempt waits for the longer of the schedule and `Retry-After`, which counts up to the longest step of the
 * schedule; jitter is added to that. Only the schedule ends a delivery, jitter does not. After a `Retry-After` beyond
 * the maximum age, the partner gets one more attempt at the latest permitted time.
 */
export function settle(
  outcome: AttemptOutcome,
  policy: RetryConfig,
  delivery: AttemptedDelivery,
  nowMs: number,
  random: () => number,
): Settlement {
  return settledByStatus(outcome) ?? retryOrDead(outcome, policy, delivery, nowMs, random);
}

function settledByStatus(outcome: AttemptOutcome): Settlement | undefined {
  if (outcome.kind === "failure") return undefined;
  const { status } = outcome;
  if (status >= 200 && status <= 299) return { kind: "delivered" };
  if (status === goneStatus) return { kind: "disabled", reason: outcomeCode(outcome) };
  return rejectingStatuses.has(status) ? { kind: "rejected", reason: outcomeCode(outcome) } : undefined;
}

function retryOrDead(
  outcome: AttemptOutcome,
  policy: RetryConfig,
  delivery: AttemptedDelivery,
  nowMs: number,
  random: () => number,
): Settlement {
  const reason = outcomeCode(outcome);
  const scheduledMs = scheduledWaitMs(policy, delivery.attempt);
  const requestedMs = requestedWaitMs(outcome, nowMs);
  const endMs = lastAttemptAtMs(policy, delivery.acceptedAtMs);
  const isExhausted = requestedMs === undefined ? nowMs + scheduledMs > endMs : nowMs >= endMs;
  if (isExhausted) return { kind: "dead", reason };
  const waitMs = Math.max(scheduledMs, Math.min(requestedMs ?? 0, longestStepMs(policy)));
  const atMs = Math.min(nowMs + withJitter(waitMs, policy.jitterPercent, random), endMs);
  return { kind: "retry", atMs, reason };
}

/** The `Retry-After` of another response on which an attempt depends, for the failure of the attempt. */
export function retryAfterOf(outcome: AttemptOutcome, nowMs: number): Pick<FailureOutcome, "retryAfterMs"> {
  const retryAfter = requestedWaitMs(outcome, nowMs);
  return retryAfter === undefined ? {} : { retryAfterMs: retryAfter };
}

/** Milliseconds for which the response requests no further request; undefined without a `Retry-After` that counts. */
export function requestedWaitMs(outcome: AttemptOutcome, nowMs: number): number | undefined {
  if (outcome.kind === "failure") return outcome.retryAfterMs;
  return throttlingStatuses.has(outcome.status) ? retryAfterMs(outcome.headers, nowMs) : undefined;
}

/** Milliseconds between failed attempt number `attempt` (from 1) and the next one, by the schedule. */
export function scheduledWaitMs(policy: RetryConfig, attempt: number): number {
  return (policy.scheduleSeconds[attempt - 1] ?? dailyWaitSeconds) * secondMs;
}

/** Longest wait of the schedule, in milliseconds. */
function longestStepMs({ scheduleSeconds }: RetryConfig): number {
  return Math.max(0, ...scheduleSeconds) * secondMs;
}

/** Latest start of the last attempt of a delivery, in Unix milliseconds. */
export function lastAttemptAtMs(policy: RetryConfig, acceptedAtMs: number): number {
  return acceptedAtMs + policy.maxAgeSeconds * secondMs;
}

/**
 * Adds jitter to a wait: up to `jitterPercent` of it, never less than `waitMs`. Deliveries that failed together are
 * then retried at different times, and none before its time.
 */
export function withJitter(waitMs: number, jitterPercent: number, random: () => number): number {
  return waitMs + Math.floor(random() * waitMs * (jitterPercent / 100));
}

/**
 * Parses an HTTP-date to Unix milliseconds; undefined for any other text and for a date that no calendar has. The date
 * counts when its name of the day is another day's. Source: RFC 9110 §5.6.7.
 */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  const parts = dateForms.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (parts === undefined) return undefined;
  const month = monthNames.indexOf(parts["month"] ?? "") + 1;
  const year = String(fullYear(parts["year"] ?? "", nowMs)).padStart(4, "0");
  const day = (parts["day"] ?? "").replace(" ", "0");
  // A leap second counts as the second before it, which the clock here has.
  const second = parts["second"] === "60" ? "59" : parts["second"];
  const written = `${year}-${String(month).padStart(2, "0")}-${day}T${parts["hour"]}:${parts["minute"]}:${second}.000Z`;
  const atMs = Date.parse(written);
  // Date.parse reads 30 February as 2 March and 24:00 as the next day; the comparison detects both.
  return Number.isNaN(atMs) || new Date(atMs).toISOString() !== written ? undefined : atMs;
}

/** A year of two digits that would lie more than 50 years ahead is in the past. Source: RFC 9110 §5.6.7. */
function fullYear(digits: string, nowMs: number): number {
  if (digits.length === 4) return Number(digits);
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}

/**
 * Milliseconds of the `Retry-After` of a response, from 0 to {@link retryAfterMsMax}; undefined without a valid one. A
 * date is compared with the response's own `Date`, because the partner's clock wrote both. Source: RFC 9110 §10.2.3,
 * seed "Webhook Event Delivery" §7.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const values = headers["retry-after"]?.match(retryAfterForm) ?? [];
  const waitsMs = values.map((value) => waitMsOf(value.trim(), headers["date"], nowMs));
  const known = waitsMs.filter((waitMs) => waitMs !== undefined);
  if (known.length === 0 || known.length < waitsMs.length) return undefined;
  return Math.min(Math.max(0, ...known), retryAfterMsMax);
}

/** One of several values, of which the longest counts: a gateway may add its own. A date has a comma behind its day. */
const retryAfterForm = /\s*(?:[A-Z][a-z]+,)?[^,]+/gu;
/** Seconds. RFC 9110 has whole seconds only, but services with limits below a second write fractions. */
const secondsForm = /^\d+(?:\.\d+)?$/u;

function waitMsOf(value: string, date: string | undefined, nowMs: number): number | undefined {
  return secondsForm.test(value) ? Math.ceil(Number(value) * secondMs) : untilDate(value, date, nowMs);
}

function untilDate(text: string, date: string | undefined, nowMs: number): number | undefined {
  const atMs = parseHttpDate(text, nowMs);
  const sentAtMs = date === undefined ? undefined : parseHttpDate(date.trim(), nowMs);
  return atMs === undefined ? undefined : atMs - (sentAtMs ?? nowMs);
}

/**
 * Settles one attempt of a ping. It is retried once, after five seconds, unless the ping is older than an hour. A 410
 * rejects the ping and does not disable the partner. Source: docs/decisions/archive/0203.
 *
 * @param nowMs time at which the outcome was known
 */
export function settlePing(outcome: AttemptOutcome, delivery: AttemptedDelivery, nowMs: number): Settlement {
  const settlement = settle(outcome, pingRetryPolicy, delivery, nowMs, () => 0);
  if (settlement.kind === "disabled") return { kind: "rejected", reason: settlement.reason };
  const isLast = settlement.kind === "retry" && delivery.attempt >= pingAttemptsMax;
  return isLast ? { kind: "dead", reason: settlement.reason } : settlement;
}
