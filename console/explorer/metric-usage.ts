import type { UsageAnswer, UsageItem } from "../../api/usage.ts";
import { useMemo } from "preact/hooks";
import { useRead } from "../api/use-read.ts";

/** What the queries of a metric cost in a day. */
export type MetricUsage = Pick<UsageItem, "cost" | "requests" | "cache_share">;

/** The parts of `GET /v1/metrics/usage` that are shown. */
interface UsageBody {
  readonly data: readonly (MetricUsage & Pick<UsageItem, "metric">)[];
  readonly meta: Pick<UsageAnswer["meta"], "clients" | "complete">;
}

/** Usage of the last 24 hours. */
export interface UsageByMetric {
  readonly byMetric: ReadonlyMap<string, MetricUsage>;
  /** True if the rows are those of the client of the token only. */
  readonly isOwn: boolean;
  readonly isComplete: boolean;
}

const path = "/v1/metrics/usage?group_by=metric&from=now-24h";

/** Usage by metric: `reading` until it is read, `none` with a server that does not count it. */
export function useMetricUsage(): UsageByMetric | "reading" | "none" {
  const { data, problem } = useRead<UsageBody>(path);
  const usage = useMemo(() => (data === undefined ? undefined : usageByMetric(data)), [data]);
  return usage ?? (problem === undefined ? "reading" : "none");
}

/** Indexes rows by their metric. Rows beyond the bound of the server have none. */
export function usageByMetric({ data, meta }: UsageBody): UsageByMetric {
  const rows = data.flatMap(({ metric, ...usage }) => (metric === null ? [] : [[metric, usage] as const]));
  return { byMetric: new Map(rows), isOwn: meta.clients === "own", isComplete: meta.complete };
}

/** Days for which the readers of a metric are shown. */
export const readerDays = 30;

interface ReadersBody {
  readonly data: readonly Pick<UsageItem, "client" | "requests">[];
  readonly meta: UsageBody["meta"];
}

/** Clients of one metric, most requests first. */
interface MetricReaders extends Pick<UsageByMetric, "isOwn" | "isComplete"> {
  readonly clients: readonly { readonly client: string; readonly requests: number }[];
}

/** The clients that queried a metric; undefined until they are read, and with a server that does not count usage. */
export function useMetricReaders(metric: string): MetricReaders | undefined {
  const params = new URLSearchParams({ metric, group_by: "client", from: `now-${readerDays}d` });
  const { data } = useRead<ReadersBody>(`/v1/metrics/usage?${params}`);
  return useMemo(() => (data === undefined ? undefined : readersOf(data)), [data]);
}

/** The clients of rows, the one with the most requests first. */
export function readersOf({ data, meta }: ReadersBody): MetricReaders {
  const clients = data
    .map(({ client, requests }) => ({ client: client ?? "other", requests }))
    .toSorted((one, other) => other.requests - one.requests);
  return { clients, isOwn: meta.clients === "own", isComplete: meta.complete };
}

/** The usage of all clients but one, with its sums. @param client empty for all */
export function withoutClient({ data, meta }: UsageAnswer, client: string): UsageAnswer {
  if (client === "") return { data, meta };
  const rows = data.filter((item) => item.client !== client);
  const sumOf = (name: "requests" | "points" | "cached_points" | "bytes" | "cost_estimate" | "cost"): number =>
    rows.reduce((sum, item) => sum + item[name], 0);
  const [points, cached] = [sumOf("points"), sumOf("cached_points")];
  const total = {
    requests: sumOf("requests"),
    points,
    cached_points: cached,
    cache_share: points === 0 ? null : cached / points,
    bytes: sumOf("bytes"),
    cost_estimate: sumOf("cost_estimate"),
    cost: sumOf("cost"),
  };
  return { data: rows, meta: { ...meta, total } };
}
