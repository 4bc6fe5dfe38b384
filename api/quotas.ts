import { Duration, faults } from "./documents.ts";
import { classes, downsamples, seriesMax } from "./queries.ts";
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

export const PlanAnswer = object({
  allowed: flag("Whether the query would be admitted now"),
  class: nullable(
    words(classes),
    "Query class that pays for the query; of a rejected one, that of the metrics it names",
  ),
  cost: numberOrNull("Expected cost units; null for a query without a plan", { minimum: 0 }),
  step_seconds: integerOrNull("Seconds between two points; null without a plan", { minimum: 0 }),
  downsample: nullable(words(downsamples), "Downsample that would be applied; null without one"),
  points: integerOrNull("Points of one series", { minimum: 0 }),
  series_max: integerOrNull("Most series of a page; null without a plan", { minimum: 1, maximum: seriesMax }),
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
    "Where the memory of this pod has the points; `expected` is null for a class without a cache",
  ),
  budget: described(
    object({
      remaining: count("Whole tokens that are left"),
      limit: count("Most cost units at once"),
      reset_seconds: count("Seconds until all are available again"),
    }),
    "Cost units of the class",
  ),
  expression: nullable(text(), "The query in PromQL for /prometheus; null where the subset cannot say it"),
  refusal: nullable(
    object({
      code: text("Error code, a row of the error table"),
      status: integer("HTTP status", { minimum: 400, maximum: 599 }),
      title: text("Short title of the error"),
      detail: text("What failed, and what to do"),
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
            query: text("Parameters of the same query with the step, which is allowed now"),
          },
        ),
        "What to request instead; null without a suggestion",
      ),
    }),
    "The problem of the query now; null when it is allowed",
  ),
});
export type CheaperQuery = NonNullable<NonNullable<PlanAnswer["refusal"]>["suggestion"]>;
export type ExpectedCache = NonNullable<NonNullable<PlanAnswer["cache"]>["expected"]>;
export type PlanAnswer = Static<typeof PlanAnswer>;

const remaining = count("Whole tokens that are left");
const requestTokens = object({
  limit_per_second: number("New request tokens in each second"),
  burst: count("Most request tokens at once"),
  remaining,
});
const costUnits = object({
  limit_per_minute: number("New cost units in each minute"),
  burst: count("Most cost units at once"),
  remaining,
});

export const Quota = object({
  class: words(classes, "Query class"),
  client: text("Client key of the token"),
  requests: described(requestTokens, "Request tokens"),
  cost: described(costUnits, "Cost units"),
  concurrent: described(
    object({ limit: count("Most concurrent requests"), used: count("Running requests") }),
    "Requests of the client that run in the responding pod",
  ),
  max_series: count("Most series of a page"),
  max_window_seconds: count("Longest window in seconds"),
  min_step_seconds: count("Smallest width of a point in seconds"),
  metrics: list(
    object({
      metric: text("Metric id"),
      requests: nullable(requestTokens, "Request tokens of the metric; null without a limit"),
      cost: nullable(costUnits, "Cost units of the metric; null without a limit"),
    }),
    "Metrics with separate limits",
  ),
  known_by: words(
    ["home_pod", "this_pod"],
    "`home_pod`: the pod that keeps the buckets told them. `this_pod`: it did not respond, and the figures are the " +
      "share of the responding pod",
  ),
});
export type Quota = Static<typeof Quota>;

export const QuotaAnswer = object({ data: list(ref(Quota), "Quotas by class"), meta: described(object({}), "Empty") });
export type QuotaAnswer = Static<typeof QuotaAnswer>;
