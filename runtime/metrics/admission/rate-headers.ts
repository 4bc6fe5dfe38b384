import { waitMs } from "../../../limits/token-bucket.ts";
import type { Balance, BucketCharge, Unit } from "./token-source.ts";

/** Longest `RateLimit` and longest `RateLimit-Policy`, in characters: default proxies take 4 KB of headers in all. */
const listCharactersMax = 384;

/**
 * Builds the headers with the rest of the quotas, for every response that a quota counts. `RateLimit` and
 * `RateLimit-Policy` list the quotas as in the IETF draft "RateLimit header fields for HTTP": those of the class, then
 * as many of single metrics as fit, the emptiest first. The older headers are about requests only. Source: seed
 * "Operational Metrics API" §6.
 */
export function rateHeaders(balances: readonly Balance[]): Readonly<Record<string, string>> {
  const [requests] = balances;
  if (requests === undefined) return {};
  const all = listed(balances.length > 2 ? ordered(balances) : balances);
  return {
    "X-RateLimit-Limit": String(requests.charge.limits.burst),
    "X-RateLimit-Remaining": String(leftOf(requests)),
    "X-RateLimit-Reset": String(resetSeconds(requests)),
    "RateLimit-Policy": all.map(({ policy }) => policy).join(", "),
    RateLimit: all.map(({ left }) => left).join(", "),
  };
}

/** The balances of the class, then those of metrics, the emptiest first. */
function ordered(balances: readonly Balance[]): readonly Balance[] {
  const ofClass = balances.filter(({ charge }) => charge.metric === undefined);
  const ofMetrics = balances.filter(({ charge }) => charge.metric !== undefined);
  return [...ofClass, ...ofMetrics.sort((a, b) => shareLeft(a) - shareLeft(b))];
}

/** The texts of as many balances as fit into both headers. */
function listed(balances: readonly Balance[]): readonly { readonly policy: string; readonly left: string }[] {
  let characters = 0;
  return balances
    .map((balance) => ({ policy: policyOf(balance.charge), left: leftText(balance) }))
    .filter(({ policy, left }) => {
      characters += Math.max(policy.length, left.length) + ", ".length;
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

/** The policies of charges, which repeat requests have again. */
const policies = new WeakMap<BucketCharge, string>();

/** `"requests";q=20;w=2`: the burst, and the seconds in which an empty bucket fills. */
function policyOf(charge: BucketCharge): string {
  const known = policies.get(charge);
  if (known !== undefined) return known;
  const { perSecond, burst } = charge.limits;
  const seconds = Math.max(1, Math.round(burst / perSecond));
  const policy = `${nameOf(charge)};q=${burst}${unitParameter[charge.unit]};w=${seconds}`;
  policies.set(charge, policy);
  return policy;
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
