import { aggregates, functions } from "./language/vocabulary.ts";
import { success } from "./success.ts";
import type { PrometheusAnswer } from "./prometheus-api.ts";

/**
 * `features`: what this API supports, by the categories of Prometheus. A feature that is not listed is not there.
 * Source: Prometheus, proposal 0063.
 */
export const features: PrometheusAnswer = success({
  api: {
    exemplars: true,
    label_values_match: true,
    query_post: true,
    query_warnings: true,
  },
  promql: { at_modifier: false, bool: true, negative_offset: false, offset: false, subqueries: false },
  promql_functions: Object.fromEntries([...functions.keys()].sort().map((name) => [name, true])),
  promql_operators: Object.fromEntries(
    [...aggregates, "+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "and", "or", "unless"].map((name) => [
      name,
      true,
    ]),
  ),
});
