import { BoundedMap } from "../../bounds/bounded-map.ts";
import { Refusal, type Suggestion } from "../../errors/refusal.ts";
import { rateHeaders, type Balance } from "./rate-headers.ts";
import { claimsOf, type Claim, type Spender, type Wish } from "./spender.ts";
import { fullBucket, refilled, spent, waitMs, type Bucket } from "../../bounds/token-bucket.ts";

/** Buckets that are kept; the one unused for longest makes way, and is full when it is needed again. About 300 bytes each. */
const bucketsMax = 50_000;
/** When a place among the requests under way is worth asking for again. */
const placeRetrySeconds = 1;

/** One request that was let in. */
export interface Admission {
  /** What is left, as headers. */
  headers(): Readonly<Record<string, string>>;
  /** Puts what was really spent in the place of what was expected. */
  settle(costs: ReadonlyMap<string, number>): void;
  /** Gives up the place among the requests under way. Harmless when repeated. */
  end(): void;
}

/** Counts what clients ask for. Source: seed "Operational Metrics API" §5.5 and §8, design §5 "Quota". */
export interface Quotas {
  /**
   * Lets a request in and spends what it is expected to cost, or neither.
   *
   * @throws Refusal `rate_exceeded`, `cost_exceeded`, `concurrency_exceeded`, with the headers of what is left
   */
  admit(spender: Spender, wish: Wish, suggestion: Suggestion): Admission;
}

/** Nothing is spent yet. */
export function createQuotas(now: () => number): Quotas {
  const buckets = createBuckets(now);
  const underWay = new Map<string, number>();

  const takePlace = ({ client, queryClass, limits }: Spender): (() => void) => {
    const key = JSON.stringify([client, queryClass]);
    const count = underWay.get(key) ?? 0;
    if (count >= limits.maxConcurrent) throw fullHouse(limits.maxConcurrent);
    underWay.set(key, count + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (underWay.get(key) ?? 1) - 1;
      if (left === 0) underWay.delete(key);
      else underWay.set(key, left);
    };
  };

  return {
    admit(spender, wish, suggestion) {
      const claims = claimsOf(spender, wish);
      const before = claims.map((claim) => ({ claim, bucket: buckets.look(claim) }));
      const short = before.find(({ claim, bucket }) => bucket.tokens < claim.count);
      if (short !== undefined) throw refusalOf(short, before, suggestion);
      const end = wish.requests === 0 ? () => undefined : takePlace(spender);
      for (const claim of claims) buckets.spend(claim, claim.count);
      let charged = wish;
      return {
        headers: () => rateHeaders(claims.map((claim) => ({ claim, bucket: buckets.look(claim) }))),
        settle(costs) {
          const actual = claimsOf(spender, { ...charged, costs: onlyOf(charged.costs, costs) });
          claimsOf(spender, charged).forEach((claim, index) => buckets.spend(claim, (actual[index]?.count ?? claim.count) - claim.count));
          charged = { ...charged, costs: onlyOf(charged.costs, costs) };
        },
        end,
      };
    },
  };
}

interface Buckets {
  look(claim: Claim): Bucket;
  spend(claim: Claim, count: number): void;
}

function createBuckets(now: () => number): Buckets {
  const kept = new BoundedMap<string, Bucket>(bucketsMax);
  const look = ({ key, limits }: Claim): Bucket => {
    const nowMs = now();
    return refilled(kept.get(key) ?? fullBucket(limits, nowMs), limits, nowMs);
  };
  return {
    look,
    spend(claim, count) {
      kept.set(claim.key, spent(look(claim), count));
    },
  };
}

/** The same metrics, each with what it really cost; one that nothing was asked of cost nothing. */
function onlyOf(expected: ReadonlyMap<string, number>, actual: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([...expected.keys()].map((metric) => [metric, actual.get(metric) ?? 0]));
}

function refusalOf({ claim, bucket }: Balance, balances: readonly Balance[], suggestion: Suggestion): Refusal {
  const waitSeconds = Math.ceil(waitMs(bucket, claim.limits, claim.count) / 1_000);
  const what = claim.unit === "requests" ? "requests" : "cost units";
  const of = claim.metric === undefined ? "of this class" : `for ${claim.metric}`;
  const left = Math.max(0, Math.floor(bucket.tokens));
  const never = Number.isFinite(waitSeconds) ? "" : `; more than ${claim.limits.burst} are never allowed at once`;
  const detail = `this needs ${claim.count} ${what} ${of} and ${left} are left${never}`;
  return new Refusal(claim.unit === "requests" ? "rate_exceeded" : "cost_exceeded", detail, {
    ...(Number.isFinite(waitSeconds) ? { retryAfterSeconds: Math.max(1, waitSeconds) } : {}),
    ...(claim.unit === "cost" ? { suggestion } : {}),
    headers: rateHeaders(balances),
  });
}

function fullHouse(most: number): Refusal {
  const detail = `${most} requests of this class are under way already`;
  return new Refusal("concurrency_exceeded", detail, { retryAfterSeconds: placeRetrySeconds });
}
