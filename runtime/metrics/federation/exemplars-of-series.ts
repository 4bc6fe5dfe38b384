import type { LabelName } from "../../../crds/config.ts";
import type { StoreExemplar } from "../../stores/prometheus/prometheus-client.ts";
import { exemplarsPerSeriesMax, isShowable } from "../reads/run-plan.ts";
import { governedLabels, labelsKey, type Labels } from "../planning/labels.ts";
import type { PlannedPart } from "../planning/plan.ts";

/** An exemplar in a response to a peer: its trace and the labels of the grouping. */
interface PeerExemplar {
  readonly labels: Labels;
  readonly trace_id: string;
  readonly value: number;
  readonly timestamp_ms: number;
}

/** Selects the newest exemplars of each group of one store, each trace once, up to the limit of a response. */
export function exemplarsOfSeries(
  part: PlannedPart,
  groupBy: readonly LabelName[],
  exemplars: readonly StoreExemplar[],
): readonly PeerExemplar[] {
  const all = exemplars.filter(isShowable).map((exemplar): PeerExemplar => ({
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
