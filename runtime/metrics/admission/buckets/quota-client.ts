import type { MetricLimits } from "../../../../crds/config.ts";
import type { QueryClassGrant } from "../../authorization/access.ts";
import type { Rate } from "../../../../limits/token-bucket.ts";
import { totalCost } from "../cost.ts";

/** The client that is charged, and its query class. */
export interface QuotaClient extends QueryClassGrant {
  /** Client key of the token. */
  readonly client: string;
}

/** The cost of one request. */
export interface RequestCost {
  /** Request tokens; 0 for a part of a running request. */
  readonly requests: number;
  /** Request tokens of each metric, for a part of a request; by metric id where they differ. @default `requests` */
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
  return charge(client, "requests", metric, limits, Math.min(count, limits.burst));
}

function costCharge(
  client: QuotaClient,
  metric: string | undefined,
  { perMinute, burst }: { readonly perMinute: number; readonly burst: number },
  cost: number,
): BucketCharge {
  return charge(client, "cost", metric, { perSecond: perMinute / secondsPerMinute, burst }, cost);
}

function charge(
  { client, queryClass }: QuotaClient,
  unit: Unit,
  metric: string | undefined,
  limits: Rate,
  count: number,
): BucketCharge {
  return { key: JSON.stringify([client, queryClass, unit, metric ?? null]), unit, metric, limits, count };
}
