import { anyObject, described, flag, list, object, record, text, words, type Schema, type Static } from "./schema.ts";

export const PrometheusError = described(
  object({
    status: words(["error"], "`error`"),
    errorType: text("Type of the error, as in Prometheus"),
    error: text("What failed and how to fix it"),
    code: text("Error code, a row of the error table", { pattern: "^[a-z][a-z0-9_]*$" }),
  }),
  "An error in Prometheus' format; `code` is a row of the error table",
);
export type PrometheusError = Static<typeof PrometheusError>;

/** A success. Its optional members state that a part of the data is missing, or cut off. */
function success<Data>(data: Schema<Data>) {
  return object(
    { status: words(["success"], "`success`"), data: described(data, "Result of the request") },
    {
      warnings: list(text(), "What is missing or truncated"),
      isPartial: flag("True if some data is missing; absent otherwise"),
    },
  );
}

export const PrometheusForm: Schema<Readonly<Record<string, unknown>>> = {
  ...anyObject("Parameters of the operation, which take precedence over the URL"),
  additionalProperties: true,
};

export const PrometheusResult = success(
  object({
    resultType: words(["matrix", "vector", "scalar"], "Form of `result`"),
    result: list({}, "Series with values as strings and times in seconds; a scalar is a single pair"),
  }),
);

export const PrometheusNames = success(list(text()));

export const PrometheusSeries = success(list(record(text())));

export const PrometheusExemplars = success(
  list(
    object({
      seriesLabels: record(text(), { description: "Labels of the series" }),
      exemplars: list(anyObject(), "Exemplars with labels, value and timestamp"),
    }),
  ),
);

export const PrometheusText = success(text());

export const PrometheusMetadata = success(
  record(
    list(
      object({
        type: text("Type of the metric in Prometheus"),
        help: text("Description of the metric"),
        unit: text("Unit of its values"),
      }),
    ),
  ),
);

export const PrometheusObject = success(anyObject());
