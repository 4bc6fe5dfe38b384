import { downsamples, seriesMax } from "../../../metrics/request/parameters.ts";
import {
  count,
  described,
  flag,
  list,
  number,
  object,
  ref,
  share,
  text,
  words,
  type JsonSchema,
  type SchemaSet,
} from "../json-schema.ts";

/** Most points of a history. */
const historyPointsMax = 60;

const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: "null" }] });
const countOrNull: JsonSchema = { type: ["integer", "null"], minimum: 0 };
const remaining = described(count, "Whole tokens that are left");

const refusal = object({
  code: text(),
  status: { type: "integer", minimum: 400, maximum: 599 },
  title: text(),
  detail: text(),
  errors: list(object({ field: text(), code: text(), detail: text() })),
  retry_after_seconds: countOrNull,
  suggestion: orNull(
    object(
      {},
      {
        step: ref("Duration"),
        downsample: text(),
        query: text({ description: "Parameters of the same query with the step, which is allowed now" }),
      },
    ),
  ),
});

/** Plans and prices of queries, quotas, label values and histories of objectives. */
export const priceSchemas: SchemaSet = {
  PlanAnswer: object({
    allowed: described(flag, "Whether the query would be admitted now"),
    class: orNull(words(["A", "B", "C"])),
    cost: described({ type: ["number", "null"], minimum: 0 }, "Expected cost units; null for a query without a plan"),
    step_seconds: countOrNull,
    downsample: orNull(words(downsamples)),
    points: described(countOrNull, "Points of one series"),
    series_max: { type: ["integer", "null"], minimum: 1, maximum: seriesMax },
    regions: list(object({ region: text(), stores: count })),
    cache: described(
      orNull(object({ expected: orNull(words(["hit", "miss", "partial"])) })),
      "Where the memory of this pod has the points; `expected` is null for a class without a cache",
    ),
    budget: described(object({ remaining, limit: count, reset_seconds: count }), "Cost units of the class"),
    expression: described(orNull(text()), "The query in PromQL for /prometheus; null where the subset cannot say it"),
    refusal: described(orNull(refusal), "The problem of the query now; null when it is allowed"),
  }),
  Quota: object({
    class: words(["A", "B", "C"]),
    client: text(),
    requests: object({ limit_per_second: number, burst: count, remaining }),
    cost: object({ limit_per_minute: number, burst: count, remaining }),
    concurrent: described(
      object({ limit: count, used: count }),
      "Requests of the client that run in the pod that answers",
    ),
    max_series: count,
    max_window_seconds: count,
    min_step_seconds: count,
    metrics: described(
      list(
        object({
          metric: text(),
          requests: orNull(object({ limit_per_second: number, burst: count, remaining })),
          cost: orNull(object({ limit_per_minute: number, burst: count, remaining })),
        }),
      ),
      "Metrics with limits of their own",
    ),
    known_by: described(
      words(["home_pod", "this_pod"]),
      "`home_pod`: the pod that keeps the buckets told them. `this_pod`: it did not respond, and the figures are the " +
        "share of the pod that answers",
    ),
  }),
  QuotaAnswer: object({ data: list(ref("Quota")), meta: object({}) }),
  LabelValuesAnswer: object({
    data: described(list(text()), "Sorted, without duplicates"),
    meta: object(
      { partial: flag },
      {
        regions: described(list(ref("RegionState")), "The regions that were read; absent if no store was"),
        hints: described(
          list(text()),
          "What a request without values probably meant, such as several values of a filter",
        ),
      },
    ),
  }),
  SloHistoryPoint: object({
    at: ref("Time"),
    sli: orNull(share),
    remaining: described({ type: ["number", "null"] }, "As `error_budget.remaining` at that time; null without events"),
  }),
  SloHistoryAnswer: object({
    data: described(list(ref("SloHistoryPoint"), { maxItems: historyPointsMax }), "The oldest first"),
    meta: object({
      correlation_id: ref("CorrelationId"),
      schema_version: text(),
      name: text(),
      domain: text(),
      metric: text(),
      tenant: text(),
      window_days: count,
      objective: share,
      step_seconds: count,
      regions: list(ref("RegionState")),
      partial: flag,
    }),
  }),
};
