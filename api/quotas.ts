import { Duration, faults, Time } from "./documents.ts";
import { classes, downsamples, rankings, rankOrders, seriesMax } from "./queries.ts";
import {
  count,
  described,
  flag,
  integer,
  integerOrNull,
  list,
  nullable,
  number,
  numberOrNull,
  object,
  ref,
  text,
  words,
  type Static,
} from "./schema.ts";

export const PlanAnswer = object(
  {
    allowed: flag("Whether the query would be admitted now"),
    class: nullable(
      words(classes),
      "Query class that is charged for the query; for a rejected query, the class of its metrics",
    ),
    cost: numberOrNull("Expected cost units; null for a query without a plan", { minimum: 0 }),
    step_seconds: integerOrNull("Seconds between two points; null without a plan", { minimum: 0 }),
    downsample: nullable(words(downsamples), "Downsample that would be applied; null without one"),
    points: integerOrNull("Points of one series", { minimum: 0 }),
    series_max: integerOrNull("Maximum number of series on a page; null without a plan", {
      minimum: 1,
      maximum: seriesMax,
    }),
    regions: list(
      object({ region: text("Name of the region"), stores: count("Stores that would be read") }),
      "Regions that would be read",
    ),
    cache: nullable(
      object({
        expected: nullable(
          words(["hit", "miss", "partial"]),
          "`hit`: all points are in memory. `partial`: some are. `miss`: none is",
        ),
      }),
      "Cached points in the memory of this pod; `expected` is null for a class without a cache",
    ),
    budget: described(
      object({
        remaining: count("Remaining whole tokens"),
        limit: count("Maximum burst of cost units"),
        reset_seconds: count("Seconds until all are available again"),
      }),
      "Cost units of the class",
    ),
    expression: nullable(text(), "The query in PromQL for /prometheus; null if the subset cannot express it"),
    refusal: nullable(
      object({
        code: text("Error code, a row of the error table"),
        status: integer("HTTP status", { minimum: 400, maximum: 599 }),
        title: text("Short title of the error"),
        detail: text("What failed and how to fix it"),
        errors: faults,
        retry_after_seconds: integerOrNull(
          "Seconds after which the query may be allowed; null if waiting does not help",
          { minimum: 0 },
        ),
        suggestion: nullable(
          object(
            {},
            {
              step: ref(Duration, "Step that costs less"),
              downsample: text("Downsample that costs less"),
              query: text("Parameters of the same query with a step that is allowed now"),
            },
          ),
          "What to request instead; null without a suggestion",
        ),
      }),
      "Why the query would be rejected now; null if it is allowed",
    ),
  },
  {
    compare: described(
      object({
        shift: ref(Duration, "Time between the two windows"),
        from: ref(Time, "Start of the earlier window"),
        to: ref(Time, "End of the earlier window"),
      }),
      "With `compare`: the earlier window, which counts in `cost`",
    ),
    top: described(
      object({
        count: integer("Series of each metric", { minimum: 1 }),
        by: words(rankings, "Value of the window that series would be ranked by"),
        order: words(rankOrders, "`desc`: the greatest value first"),
        candidates_max: count("Most series of a metric that are ranked; more are rejected"),
      }),
      "With `top`: the ranking, for which stores return every series",
    ),
  },
);
export type CheaperQuery = NonNullable<NonNullable<PlanAnswer["refusal"]>["suggestion"]>;
export type ExpectedCache = NonNullable<NonNullable<PlanAnswer["cache"]>["expected"]>;
export type PlanAnswer = Static<typeof PlanAnswer>;

const remaining = count("Remaining whole tokens");
const requestTokens = object({
  limit_per_second: number("Request tokens added per second"),
  burst: count("Maximum burst of request tokens"),
  remaining,
});
const costUnits = object({
  limit_per_minute: number("Cost units added per minute"),
  burst: count("Maximum burst of cost units"),
  remaining,
});

export const Quota = object({
  class: words(classes, "Query class"),
  client: text("Client key of the token"),
  requests: described(requestTokens, "Request tokens"),
  cost: described(costUnits, "Cost units"),
  concurrent: described(
    object({ limit: count("Maximum concurrent requests"), used: count("Running requests") }),
    "Running requests of the client in the responding pod",
  ),
  max_series: count("Maximum number of series on a page"),
  max_window_seconds: count("Maximum window in seconds"),
  min_step_seconds: count("Minimum width of a point in seconds"),
  metrics: list(
    object({
      metric: text("Metric id"),
      requests: nullable(requestTokens, "Request tokens of the metric; null if unlimited"),
      cost: nullable(costUnits, "Cost units of the metric; null if unlimited"),
    }),
    "Metrics with separate limits",
  ),
  known_by: words(
    ["home_pod", "this_pod"],
    "`home_pod`: reported by the pod that keeps the buckets. `this_pod`: that pod did not respond, and the " +
      "figures are the share of the responding pod",
  ),
});
export type Quota = Static<typeof Quota>;

export const QuotaAnswer = object({ data: list(ref(Quota), "Quotas by class"), meta: described(object({}), "Empty") });
export type QuotaAnswer = Static<typeof QuotaAnswer>;
