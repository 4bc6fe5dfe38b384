import type { BucketCharge, Unit } from "./token-source.ts";
import { waitMs, type Bucket } from "../../../limits/token-bucket.ts";

/** A charge and its bucket, after the charge or in its place. */
export interface Balance {
  readonly charge: BucketCharge;
  readonly bucket: Bucket;
}

/** Longest `RateLimit` and longest `RateLimit-Policy`, in characters: default proxies take 4 KB of headers in all. */
const listCharactersMax = 384;

/**
 * Builds the headers with the rest of the quotas, for every response that a quota counts. `RateLimit` and
 * `RateLimit-Policy` list the quotas as in the IETF draft "RateLimit header fields for HTTP": those of the class, then
 * as many of single metrics as fit, the emptiest first. The older headers are about requests only. Source: seed
 * "Operational Metrics API" §6.
 */
export function rateHeaders(balances: readonly Balance[]): Readonly<Record<string, string>> {
  const [requests, ...others] = balances;
  if (requests === undefined) return {};
  const all = listed([requests, ...others]);
  return {
    "X-RateLimit-Limit": String(requests.charge.limits.burst),
    "X-RateLimit-Remaining": String(leftOf(requests)),
    "X-RateLimit-Reset": String(resetSeconds(requests)),
    "RateLimit-Policy": all.map(policyOf).join(", "),
    RateLimit: all.map(leftText).join(", "),
  };
}

/** The balances whose texts fit into both headers. */
function listed(balances: readonly Balance[]): readonly Balance[] {
  const ofClass = balances.filter(({ charge }) => charge.metric === undefined);
  const ofMetrics = balances.filter(({ charge }) => charge.metric !== undefined);
  const ordered = [...ofClass, ...ofMetrics.sort((a, b) => shareLeft(a) - shareLeft(b))];
  let characters = 0;
  return ordered.filter((balance) => {
    characters += Math.max(policyOf(balance).length, leftText(balance).length) + ", ".length;
    return characters <= listCharactersMax;
  });
}

function shareLeft({ bucket, charge: { limits } }: Balance): number {
  return bucket.tokens / limits.burst;
}

function leftText(balance: Balance): string {
  return `${nameOf(balance.charge)};r=${leftOf(balance)};t=${resetSeconds(balance)}`;
}

/** The parameter of the counted unit, in the syntax of RFC 9651. Requests are the default unit. */
const unitParameter: Readonly<Record<Unit, string>> = { requests: "", cost: ';qu="cost-units"' };

/** `"requests";q=20;w=2`: the burst, and the seconds in which an empty bucket fills. */
function policyOf({ charge }: Balance): string {
  const { perSecond, burst } = charge.limits;
  return `${nameOf(charge)};q=${burst}${unitParameter[charge.unit]};w=${Math.max(1, Math.round(burst / perSecond))}`;
}

function nameOf({ unit, metric }: BucketCharge): string {
  return metric === undefined ? `"${unit}"` : `"${unit}:${metric}"`;
}

/** The whole tokens that a bucket has. */
export function leftOf({ bucket }: Balance): number {
  return Math.max(0, Math.floor(bucket.tokens));
}

/** Seconds until the bucket is full. */
export function resetSeconds({ bucket, charge }: Balance): number {
  return Math.ceil(waitMs(bucket, charge.limits, charge.limits.burst) / 1_000);
}
