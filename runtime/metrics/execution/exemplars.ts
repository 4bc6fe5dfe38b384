import type { StoreExemplar } from "../../stores/prometheus/prometheus-client.ts";
import { governedLabels, labelsKey } from "../planning/labels.ts";
import type { Plan } from "../planning/plan.ts";
import type { PartResult } from "./read-part.ts";
import { formatTime } from "../request/time.ts";

/** An exemplar of an answer. Source: wire, "Metrics". */
export interface Exemplar {
  readonly trace_id: string;
  readonly timestamp: string;
  readonly value: number;
}

export const exemplarsPerSeriesMax = 10;
/** A W3C or a B3 trace id and nothing else: a free text could hold personal data. */
const traceId = /^(?:[0-9a-f]{16}|[0-9a-f]{32})$/iu;

/** How many exemplars are not shown, since their `trace_id` is none. */
export function countHidden(answers: readonly PartResult[]): number {
  return answers.reduce((sum, { exemplars }) => sum + exemplars.filter((exemplar) => !isShowable(exemplar)).length, 0);
}

/**
 * The newest exemplars of one metric by the key of their series' labels. Source: seed "Operational Metrics API" §2.4.
 */
export function exemplarsBySeries(
  answers: readonly PartResult[],
  plan: Plan,
): ReadonlyMap<string, readonly Exemplar[]> {
  const keyed = answers.flatMap(({ part, exemplars }) =>
    exemplars.filter(isShowable).map((exemplar) => ({
      key: labelsKey(governedLabels(part, plan.query.groupBy, exemplar.seriesLabels)),
      exemplar,
    })),
  );
  const groups = Map.groupBy(keyed, ({ key }) => key);
  return new Map([...groups].map(([key, own]) => [key, newest(own.map(({ exemplar }) => exemplar))]));
}

/** Whether an exemplar holds a trace id, and numbers. */
export function isShowable({ labels, value, timestampMs }: StoreExemplar): boolean {
  return traceId.test(labels["trace_id"] ?? "") && Number.isFinite(value) && Number.isFinite(timestampMs);
}

/** Newest first; a bucket and the buckets above it may carry the same one. */
function newest(exemplars: readonly StoreExemplar[]): readonly Exemplar[] {
  const shown = new Map<string, Exemplar>();
  for (const { labels, value, timestampMs } of [...exemplars].sort((a, b) => b.timestampMs - a.timestampMs)) {
    const id = labels["trace_id"] ?? "";
    if (!shown.has(id)) shown.set(id, { trace_id: id, timestamp: formatTime(timestampMs), value });
    if (shown.size === exemplarsPerSeriesMax) break;
  }
  return [...shown.values()];
}
