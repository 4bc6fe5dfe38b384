import { described, flag, list, object, text, words, type JsonSchema, type SchemaSet } from "./json-schema.ts";

const success = words(["success"]);
/** Members that say that a part of the data is missing, or cut off. */
const reservations = { warnings: list(text()), isPartial: flag };
const labels: JsonSchema = { type: "object", additionalProperties: text() };

function answer(data: JsonSchema): JsonSchema {
  return object({ status: success, data }, reservations);
}

/** Bodies below `/prometheus`. Source: Prometheus, "HTTP API". */
export const prometheusSchemas: SchemaSet = {
  PrometheusError: described(
    object({
      status: words(["error"]),
      errorType: text(),
      error: text(),
      // Not an enumeration: a later version may add codes.
      code: text({ pattern: "^[a-z][a-z0-9_]*$" }),
    }),
    "An error in the form of Prometheus; `code` is a row of the error table",
  ),
  PrometheusForm: described(
    { type: "object", additionalProperties: true },
    "The parameters of the operation, which stand before those of the URL",
  ),
  PrometheusResult: answer(
    object({
      resultType: words(["matrix", "vector", "scalar"]),
      result: described(list({}), "Series with values as texts, times in seconds; a scalar is one pair of them"),
    }),
  ),
  PrometheusNames: answer(list(text())),
  PrometheusSeries: answer(list(labels)),
  PrometheusExemplars: answer(list(object({ seriesLabels: labels, exemplars: list({ type: "object" }) }))),
  PrometheusText: answer(text()),
  PrometheusMetadata: answer({
    type: "object",
    additionalProperties: list(object({ type: text(), help: text(), unit: text() })),
  }),
  PrometheusObject: answer({ type: "object" }),
};
