import type { Exemplar } from "../../../api/queries.ts";
import type { StoreExemplar } from "../../stores/prometheus/prometheus-client.ts";
import { StoreError } from "../../stores/store-error.ts";
import { governedLabels, labelsKey, type Plan, type PlannedPart } from "../planning/plan.ts";
import { formatTime } from "../request/time.ts";

/** The exemplars of one part of a plan. */
interface PartExemplars {
  readonly part: PlannedPart;
  readonly exemplars: readonly StoreExemplar[];
}

export const exemplarsPerSeriesMax = 10;
/** A W3C or a B3 trace id. A free text could hold personal data. */
const traceId = /^(?:[0-9a-f]{16}|[0-9a-f]{32})$/iu;

/** Counts the exemplars that are hidden, since their `trace_id` is not a trace id. */
export function countHidden(results: readonly PartExemplars[]): number {
  return results.reduce((sum, { exemplars }) => sum + exemplars.filter((exemplar) => !isShowable(exemplar)).length, 0);
}

/**
 * The newest exemplars of one metric, by the key of their series' labels. Source: seed "Operational Metrics API" §2.4.
 */
export function exemplarsBySeries(
  results: readonly PartExemplars[],
  plan: Plan,
): ReadonlyMap<string, readonly Exemplar[]> {
  const keyed = results.flatMap(({ part, exemplars }) =>
    exemplars.filter(isShowable).map((exemplar) => ({
      key: labelsKey(governedLabels(part, plan.query.groupBy, exemplar.seriesLabels)),
      exemplar,
    })),
  );
  const groups = Map.groupBy(keyed, ({ key }) => key);
  return new Map([...groups].map(([key, own]) => [key, newest(own.map(({ exemplar }) => exemplar))]));
}

/** Tests if an exemplar has a trace id and finite numbers. */
export function isShowable({ labels, value, timestampMs }: StoreExemplar): boolean {
  return traceId.test(labels["trace_id"] ?? "") && Number.isFinite(value) && Number.isFinite(timestampMs);
}

/** Selects the newest exemplars, each trace once: a bucket and the buckets above it can have the same exemplar. */
function newest(exemplars: readonly StoreExemplar[]): readonly Exemplar[] {
  const byTrace = new Map<string, Exemplar>();
  for (const { labels, value, timestampMs } of [...exemplars].sort((a, b) => b.timestampMs - a.timestampMs)) {
    const id = labels["trace_id"] ?? "";
    if (!byTrace.has(id)) byTrace.set(id, { trace_id: id, timestamp: formatTime(timestampMs), value });
    if (byTrace.size === exemplarsPerSeriesMax) break;
  }
  return [...byTrace.values()];
}

/** Reads exemplars; none from a store without an API for them. */
export async function exemplarsOrNone(
  read: () => Promise<readonly StoreExemplar[]>,
): Promise<readonly StoreExemplar[]> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StoreError && (error.kind === "status" || error.kind === "refused")) return [];
    throw error;
  }
}
