import type { MetricLimits } from "../../../../crds/config.ts";
import type { QueryClassGrant } from "../../authorization/access.ts";
import type { Rate } from "../../../bounds/token-bucket.ts";

/** Who spends, in which class. */
export interface QuotaClient extends QueryClassGrant {
  /** Client key of the token. */
  readonly client: string;
}

/** What one request spends. */
export interface RequestCost {
  /** Request tokens; none for a part of a request that is under way already. */
  readonly requests: number;
  /** Request tokens of each metric, where they are others: those of a part of a request. @default as many */
  readonly metricRequests?: number;
  /** Cost units by metric id. */
  readonly costs: ReadonlyMap<string, number>;
}

/** What a bucket counts. */
export type Unit = "requests" | "cost";

/** One bucket and what a request wants of it. */
export interface BucketCharge {
  /** Names the bucket among those of all clients. */
  readonly key: string;
  readonly unit: Unit;
  /** Undefined: of the whole class. */
  readonly metric: string | undefined;
  readonly limits: Rate;
  readonly count: number;
}

/** Names a spender among all of them; keys of its buckets begin with the same words. */
export function clientKey({ client, queryClass }: QuotaClient): string {
  return JSON.stringify([client, queryClass]);
}

/** The spender whose bucket has this key. */
export function clientKeyOf(key: string): string {
  const [client, queryClass] = JSON.parse(key) as readonly unknown[];
  return JSON.stringify([client, queryClass]);
}

const secondsPerMinute = 60;

/** Every bucket that a request draws on: those of its class first. Source: seed "Operational Metrics API" §5.5. */
export function chargesOf(
  client: QuotaClient,
  { requests, metricRequests = requests, costs }: RequestCost,
): readonly BucketCharge[] {
  const { limits, perMetric } = client;
  const cost = costs.values().reduce((sum, own) => sum + own, 0);
  const own = perMetric.filter(({ metric }) => costs.has(metric));
  return [
    requestCharge(client, undefined, { perSecond: limits.requestsPerSecond, burst: limits.burst }, requests),
    costCharge(client, undefined, { perMinute: limits.costUnitsPerMinute, burst: limits.burstCostUnits }, cost),
    ...own.flatMap((bounds) => metricCharges(client, bounds, metricRequests, costs.get(bounds.metric) ?? 0)),
  ];
}

/** A burst of one second's requests, and of one minute's cost. */
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

/** A wide window takes several tokens, and never more than a whole burst. */
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
