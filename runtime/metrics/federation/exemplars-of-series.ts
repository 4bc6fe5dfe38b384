import type { LabelName } from "../../../crds/config.ts";
import type { StoreExemplar } from "../../stores/prometheus/prometheus-client.ts";
import { exemplarsPerSeriesMax, isShowable } from "../execution/exemplars.ts";
import { governedLabels, labelsKey, type Labels } from "../planning/labels.ts";
import type { PlannedPart } from "../planning/plan.ts";

/** An exemplar on its way to another region: its trace, and the labels of the grouping. */
interface TravellingExemplar {
  readonly labels: Labels;
  readonly trace_id: string;
  readonly value: number;
  readonly timestamp_ms: number;
}

/** The newest exemplars of each group of one store, each trace once, as many as an answer shows. */
export function exemplarsOfSeries(
  part: PlannedPart,
  groupBy: readonly LabelName[],
  exemplars: readonly StoreExemplar[],
): readonly TravellingExemplar[] {
  const all = exemplars.filter(isShowable).map((exemplar): TravellingExemplar => ({
    labels: governedLabels(part, groupBy, exemplar.seriesLabels),
    trace_id: exemplar.labels["trace_id"] ?? "",
    value: exemplar.value,
    timestamp_ms: exemplar.timestampMs,
  }));
  const groups = Map.groupBy(all, ({ labels }) => labelsKey(labels)).values();
  return [...groups].flatMap((own) => {
    const oldestFirst = own.toSorted((a, b) => a.timestamp_ms - b.timestamp_ms);
    const byTrace = new Map(oldestFirst.map((one) => [one.trace_id, one]));
    return [...byTrace.values()].sort((a, b) => b.timestamp_ms - a.timestamp_ms).slice(0, exemplarsPerSeriesMax);
  });
}
