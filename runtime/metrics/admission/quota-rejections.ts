import { waitMs } from "../../../limits/token-bucket.ts";
import { ApiError, type Suggestion } from "../../errors/api-error.ts";
import type { Query } from "../planning/query.ts";
import { formatDuration } from "../request/time.ts";
import { coarserDownsample, stepWithin, windowSecondsOf } from "../request/window.ts";
import type { Balance } from "./token-source.ts";

/** Seconds after which a request above the limit on concurrency can be sent again. */
const concurrencyRetrySeconds = 1;

/** Finds the finest step with at most this share of a request's cost, in (0, 1); undefined without one. */
export type Cheaper = (share: number) => Suggestion | undefined;

/**
 * Builds the rejection of a charge that no wait admits, else of the first charge above its bucket, or of the first
 * charge where tokens came in between.
 */
export function quotaRejection(balances: readonly Balance[], cheaper: Cheaper): ApiError {
  const short =
    balances.find(isNeverAdmitted) ??
    balances.find(({ charge, bucket }) => bucket.tokens < charge.count) ??
    balances[0];
  if (short === undefined) throw new Error("a request without a charge was rejected");
  return short.charge.unit === "cost" ? costRejection(short, balances, cheaper) : rateRejection(short);
}

/** True for a charge above the burst, which no bucket ever has. */
function isNeverAdmitted({ charge: { count, limits } }: Balance): boolean {
  return count > limits.burst;
}

function rateRejection(short: Balance): ApiError {
  return new ApiError("rate_exceeded", `${needOf(short, "request tokens")}; retry later`, {
    ...retryAfter(short, short.charge.count),
  });
}

/**
 * Suggests a step for the tokens that are left, else a step for a whole burst. `Retry-After` is only about the request
 * itself: one above the burst has none, and its detail states when there are enough tokens for the suggestion.
 */
function costRejection(short: Balance, balances: readonly Balance[], cheaper: Cheaper): ApiError {
  const { count, limits } = short.charge;
  const costs = balances.filter(({ charge }) => charge.unit === "cost" && charge.count > 0);
  const shareOf = (most: (balance: Balance) => number): number =>
    Math.min(...costs.map((balance) => most(balance) / balance.charge.count));
  const now = cheaper(shareOf(({ bucket }) => bucket.tokens));
  const suggestion = now ?? cheaper(shareOf(({ charge }) => charge.limits.burst));
  const advice = adviceOf(suggestion, isNeverAdmitted(short), now === undefined ? waitSeconds(short, limits.burst) : 0);
  return new ApiError("cost_exceeded", `${needOf(short, "cost units")}; ${advice}`, {
    ...retryAfter(short, count),
    ...(suggestion === undefined ? {} : { suggestion }),
  });
}

function adviceOf(suggestion: Suggestion | undefined, isNever: boolean, suggestionSeconds: number): string {
  const never = isNever ? "waiting does not help; " : "";
  if (suggestion === undefined) return `${never}no coarser step fits; use a shorter window or fewer groups`;
  if (!isNever) return "use the suggestion or retry later";
  const when = suggestionSeconds === 0 ? "" : `, which fits in ${suggestionSeconds} s`;
  return `${never}use the suggestion${when}`;
}

function needOf({ charge: { count, limits, metric }, bucket }: Balance, unit: string): string {
  const of = metric === undefined ? "of this class" : `for ${metric}`;
  const never = count > limits.burst ? `; the burst limit is ${limits.burst}` : "";
  const units = count === 1 ? unit.replace(/s$/u, "") : unit;
  return `the request needs ${count} ${units} ${of}, but ${Math.max(0, Math.floor(bucket.tokens))} are left${never}`;
}

function retryAfter(balance: Balance, count: number): { readonly retryAfterSeconds?: number } {
  const seconds = waitSeconds(balance, count);
  return Number.isFinite(seconds) ? { retryAfterSeconds: Math.max(1, seconds) } : {};
}

/** Seconds until a bucket has a number of tokens; infinite above its burst. */
function waitSeconds({ charge: { limits }, bucket }: Balance, count: number): number {
  return Math.ceil(waitMs(bucket, limits, count) / 1_000);
}

/** Builds the rejection of a request above the limit on concurrency, unless no wait admits it. */
export function busyRejection(most: number, balances: readonly Balance[], cheaper: Cheaper): ApiError {
  if (balances.some(isNeverAdmitted)) return quotaRejection(balances, cheaper);
  const detail = `${most} requests of this client are already running in this class; wait until one of them completes`;
  return new ApiError("concurrency_exceeded", detail, { retryAfterSeconds: concurrencyRetrySeconds });
}

/** The finest cheaper form that costs at most this share of a query; undefined without one. */
export function suggestionWithin({ window }: Query, share: number): Suggestion | undefined {
  const step = stepWithin(window, share);
  if (step === undefined) return undefined;
  const downsample = coarserDownsample(step - 1, windowSecondsOf(window));
  return { step: formatDuration(step), ...(downsample === undefined ? {} : { downsample }) };
}
