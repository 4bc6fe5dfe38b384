import type { MetricLimits } from "../../../crds/config.ts";
import { BoundedMap } from "../../../limits/bounded-map.ts";
import { type Bucket, fullBucket, type Rate, refilled, spent } from "../../../limits/token-bucket.ts";
import type { QueryClassGrant } from "../authorization/access.ts";
import { totalCost } from "./cost.ts";

/** The client that is charged, and its query class. */
export interface QuotaClient extends QueryClassGrant {
  /** Client key of the token. */
  readonly client: string;
}

/** The cost of one request. */
export interface RequestCost {
  /** Request tokens; 0 for a part of a running request. */
  readonly requests: number;
  /** Request tokens of each metric, for a part of a request; by metric id if they differ. @default `requests` */
  readonly metricRequests?: number | ReadonlyMap<string, number>;
  /** Cost units by metric id. */
  readonly costs: ReadonlyMap<string, number>;
}

/** The unit of a bucket. */
export type Unit = "requests" | "cost";

/** The tokens that a request takes from one bucket. */
export interface BucketCharge {
  /** Key of the bucket, unique over all clients. */
  readonly key: string;
  readonly unit: Unit;
  /** The metric of the bucket; undefined for the bucket of the whole class. */
  readonly metric: string | undefined;
  readonly limits: Rate;
  readonly count: number;
}

/** The key of a client in one class. The keys of its buckets start with the same two names. */
export function clientKey({ client, queryClass }: QuotaClient): string {
  return JSON.stringify([client, queryClass]);
}

/** The client key of a bucket's key. */
export function clientKeyOf(key: string): string {
  const [client, queryClass] = JSON.parse(key) as readonly unknown[];
  return JSON.stringify([client, queryClass]);
}

const secondsPerMinute = 60;

/** The charges of a request, those of its class first. Source: seed "Operational Metrics API" §5.5. */
export function chargesOf(
  client: QuotaClient,
  { requests, metricRequests = requests, costs }: RequestCost,
): readonly BucketCharge[] {
  const { limits, perMetric } = client;
  const own = perMetric.filter(({ metric }) => costs.has(metric));
  const tokensOf = (metric: string): number =>
    typeof metricRequests === "number" ? metricRequests : (metricRequests.get(metric) ?? requests);
  return [
    requestCharge(client, undefined, { perSecond: limits.requestsPerSecond, burst: limits.burst }, requests),
    costCharge(
      client,
      undefined,
      { perMinute: limits.costUnitsPerMinute, burst: limits.burstCostUnits },
      totalCost(costs),
    ),
    ...own.flatMap((bounds) => metricCharges(client, bounds, tokensOf(bounds.metric), costs.get(bounds.metric) ?? 0)),
  ];
}

/** The charges of one metric. Their bursts are the requests of one second and the cost of one minute. */
function metricCharges(
  client: QuotaClient,
  bounds: MetricLimits,
  requests: number,
  cost: number,
): readonly BucketCharge[] {
  const { metric, requestsPerSecond: perSecond, costUnitsPerMinute: perMinute } = bounds;
  return [
    ...(perSecond === undefined ? [] : [requestCharge(client, metric, { perSecond, burst: perSecond }, requests)]),
    ...(perMinute === undefined ? [] : [costCharge(client, metric, { perMinute, burst: perMinute }, cost)]),
  ];
}

/** A wide window takes several tokens, at most a whole burst. */
function requestCharge(client: QuotaClient, metric: string | undefined, limits: Rate, count: number): BucketCharge {
  return bucketCharge(client, "requests", metric, limits, Math.min(count, limits.burst));
}

function costCharge(
  client: QuotaClient,
  metric: string | undefined,
  { perMinute, burst }: { readonly perMinute: number; readonly burst: number },
  cost: number,
): BucketCharge {
  return bucketCharge(client, "cost", metric, { perSecond: perMinute / secondsPerMinute, burst }, cost);
}

function bucketCharge(
  { client, queryClass }: QuotaClient,
  unit: Unit,
  metric: string | undefined,
  limits: Rate,
  count: number,
): BucketCharge {
  return { key: JSON.stringify([client, queryClass, unit, metric ?? null]), unit, metric, limits, count };
}

/** Most buckets, of about 300 bytes each. Above it, the least recently used one is removed and begins anew. */
const bucketsMax = 50_000;

/** Token buckets by key. Each call names the rate of its bucket. */
export type BucketStore = ReturnType<typeof createBucketStore>;

/** Creates an empty store. @param begin the first state of a bucket. @default full */
export function createBucketStore(now: () => number, begin: (rate: Rate, nowMs: number) => Bucket = fullBucket) {
  const kept = new BoundedMap<string, Bucket>(bucketsMax);
  const look = (key: string, rate: Rate): Bucket => {
    const nowMs = now();
    return refilled(kept.get(key) ?? begin(rate, nowMs), rate, nowMs);
  };
  return {
    look,
    /** Takes tokens, also more than the bucket has. A negative count returns tokens. */
    spend: (key: string, rate: Rate, count: number) => kept.set(key, spent(look(key, rate), count)),
  };
}

/** A source of the tokens of clients. */
export interface TokenSource {
  /** The bucket of a charge, as far as this pod knows. */
  look(charge: BucketCharge): Bucket;
  /** True when {@link take} would take the tokens of all charges. */
  has(charges: readonly BucketCharge[]): boolean;
  /** Takes the tokens of all charges, or none. */
  take(charges: readonly BucketCharge[]): boolean;
  /** Takes tokens, also more than there are. A negative count returns tokens. */
  spend(charge: BucketCharge, count: number): void;
}

/**
 * A source that takes from the buckets of a store.
 *
 * @param share of every quota, in (0, 1]. A charge above the burst of that share takes all of it and owes the rest
 */
export function bucketSource(buckets: BucketStore, share: () => number = () => 1): TokenSource {
  const rateOf = ({ limits }: BucketCharge): Rate => ({
    perSecond: limits.perSecond * share(),
    burst: limits.burst * share(),
  });
  const look = (charge: BucketCharge): Bucket => buckets.look(charge.key, rateOf(charge));
  const isShort = (charge: BucketCharge): boolean => {
    const most =
      charge.count > charge.limits.burst ? charge.count : Math.min(charge.count, charge.limits.burst * share());
    return look(charge).tokens < most;
  };
  const spend = (charge: BucketCharge, count: number): void => buckets.spend(charge.key, rateOf(charge), count);
  const has = (charges: readonly BucketCharge[]): boolean => !charges.some(isShort);
  return {
    look,
    has,
    take(charges) {
      if (!has(charges)) return false;
      for (const charge of charges) spend(charge, charge.count);
      return true;
    },
    spend,
  };
}

/** A source that takes the same tokens from another source too, as far as that one has them. */
export function notedSource(source: TokenSource, other: TokenSource): TokenSource {
  const note = (charge: BucketCharge, count: number): void => {
    const there = Math.max(0, other.look(charge).tokens);
    if (count !== 0) other.spend(charge, Math.min(count, there));
  };
  return {
    look: (charge) => source.look(charge),
    has: (charges) => source.has(charges),
    take(charges) {
      const ok = source.take(charges);
      if (ok) for (const charge of charges) note(charge, charge.count);
      return ok;
    },
    spend(charge, count) {
      source.spend(charge, count);
      note(charge, count);
    },
  };
}

/** A charge and its bucket, after the charge or in its place. */
export interface Balance {
  readonly charge: BucketCharge;
  readonly bucket: Bucket;
}
