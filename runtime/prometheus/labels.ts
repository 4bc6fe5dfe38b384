import type { LabelName } from "../../crds/config.ts";
import type { Parameters } from "../metrics/request/parameters.ts";
import type { PrometheusAnswer, PrometheusRequest } from "./prometheus-api.ts";
import { limited } from "./request/read-parameters.ts";
import type { SelectedMetric } from "./request/selectors.ts";
import { success } from "./success.ts";

/** The label of the metric's name. */
export const nameLabel = "__name__";
/** Labels by which every metric can be selected. */
const everywhere: readonly LabelName[] = ["tenant", "region", "environment"];

/** `labels`: the labels of metrics, from the catalog. @throws Refusal `invalid_limit` */
export function answerLabels(selected: readonly SelectedMetric[], { params }: PrometheusRequest): PrometheusAnswer {
  const own = selected.flatMap(({ metric }) => [...everywhere, ...metric.labels]);
  const names = selected.length === 0 ? [] : [nameLabel, ...own];
  return listed([...new Set(names)].sort(), params);
}

function listed(names: readonly string[], params: Parameters): PrometheusAnswer {
  const { kept, warnings } = limited(names, params);
  return success(kept, {}, { warnings });
}

/** `label/__name__/values`: the ids of metrics, from the catalog. @throws Refusal `invalid_limit` */
export function answerNames(selected: readonly SelectedMetric[], { params }: PrometheusRequest): PrometheusAnswer {
  const ids = new Set(selected.map(({ metric }) => metric.id));
  return listed([...ids].sort(), params);
}
