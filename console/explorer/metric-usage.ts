import { useMemo } from "preact/hooks";
import { useRead } from "../api/use-read.ts";

/** What the queries of a metric cost in a day. */
export interface MetricUsage {
  readonly cost: number;
  readonly requests: number;
  /** Share of points that came from a cache; null without points. */
  readonly cache_share: number | null;
}

/** The parts of `GET /v1/metrics/usage` that are shown. */
interface UsageBody {
  readonly data: readonly (MetricUsage & { readonly metric: string | null })[];
  readonly meta: { readonly clients: "all" | "own"; readonly complete: boolean };
}

/** Usage of the last 24 hours. */
export interface UsageByMetric {
  readonly byMetric: ReadonlyMap<string, MetricUsage>;
  /** True if the rows are those of the client of the token only. */
  readonly isOwn: boolean;
  readonly isComplete: boolean;
}

const path = "/v1/metrics/usage?group_by=metric&from=now-24h";

/** Usage by metric; undefined until it is read, and with a server that does not count it. */
export function useMetricUsage(): UsageByMetric | undefined {
  const { data } = useRead<UsageBody>(path);
  return useMemo(() => (data === undefined ? undefined : usageByMetric(data)), [data]);
}

/** Indexes rows by their metric. Rows beyond the bound of the server have none. */
export function usageByMetric({ data, meta }: UsageBody): UsageByMetric {
  const rows = data.flatMap(({ metric, ...usage }) => (metric === null ? [] : [[metric, usage] as const]));
  return { byMetric: new Map(rows), isOwn: meta.clients === "own", isComplete: meta.complete };
}
