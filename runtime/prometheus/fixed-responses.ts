import { version } from "../version.ts";
import { formatExpression } from "./language/format-expression.ts";
import { typeOf } from "./language/parse-expression.ts";
import { aggregates, functions } from "./language/vocabulary.ts";
import { type FixedName, type PrometheusResponse, type PrometheusRequest, success } from "./prometheus-api.ts";
import { readExpression, teaching } from "./request/read-expression.ts";

/**
 * `features`: what this API supports, by the categories of Prometheus. A feature that is not listed is not there.
 * Source: Prometheus, proposal 0063.
 */
const features: PrometheusResponse = success({
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

/**
 * The version of Prometheus whose HTTP API these responses have. Clients choose requests by it: Grafana sends `match[]`
 * with label values from 2.24 on. It takes a body without `features` for that of Prometheus itself.
 */
const apiVersion = "3.5.0";

const buildInfo: PrometheusResponse = success({
  version: apiVersion,
  revision: `heliograph-${version}`,
  branch: "",
  buildUser: "",
  buildDate: "",
  goVersion: "",
});

/** Neither rules nor alerts are evaluated here. */
export const fixedResponses: Readonly<Record<FixedName, PrometheusResponse>> = {
  "status/buildinfo": buildInfo,
  features,
  rules: success({ groups: [] }),
  alerts: success({ alerts: [] }),
};

/** `format_query`. @throws ApiError `invalid_expression` */
export function handleFormat({ params }: PrometheusRequest): PrometheusResponse {
  const expression = readExpression(params);
  teaching("query", () => typeOf(expression));
  return success(formatExpression(expression));
}
