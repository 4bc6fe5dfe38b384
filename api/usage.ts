import { Time } from "./documents.ts";
import { classes } from "./queries.ts";
import { count, described, flag, list, nullable, object, ref, share, text, words, type Static } from "./schema.ts";

/** What rows of usage can be grouped by. */
export const usageGroups = ["client", "tenant", "metric", "class"] as const;
export const usageRowsMax = 10_000;
/** Hours for which usage is kept: 35 days. */
export const usageHours = 840;

const sums = {
  requests: count("Admitted requests for a metric; a request for several metrics counts for each of them"),
  points: count("Requested points of all range queries"),
  cached_points: count("Requested points that came from a cache"),
  cache_share: nullable(share(), "Share of points that came from a cache; null without points"),
  bytes: count("Bytes of response bodies as sent; those of a response are divided equally among its metrics"),
  cost_estimate: count("Cost units that were expected"),
  cost: count("Cost units that were charged"),
};

export const UsageItem = object({
  from: ref(Time, "Start of the interval"),
  to: ref(Time, "End of the interval"),
  client: nullable(text(), "Client; `other` beyond the bound on rows; null unless rows are grouped by client"),
  tenant: nullable(text(), "Tenant; `other` beyond the bound on rows; null unless rows are grouped by tenant"),
  metric: nullable(text(), "Metric id; `other` beyond the bound on rows; null unless rows are grouped by metric"),
  class: nullable(words(classes), "Query class; null unless rows are grouped by class"),
  ...sums,
});
export type UsageItem = Static<typeof UsageItem>;

export const UsageAnswer = object({
  data: list(ref(UsageItem), "By time, then the greatest cost first; only groups with usage", {
    maxItems: usageRowsMax,
  }),
  meta: described(
    object({
      from: ref(Time, "Start of the window, a whole hour in UTC"),
      to: ref(Time, "End of the window, a whole hour in UTC"),
      step_seconds: nullable(count(), "Length of an interval in seconds; null if the window is one interval"),
      group_by: list(words(usageGroups), "What rows are grouped by"),
      clients: words(
        ["all", "own"],
        "`own`: the token lacks the scope `metrics:usage`, so rows are those of its client",
      ),
      total: described(object(sums), "Sums of the rows, exactly"),
      complete: flag("False if usage of the window may be missing"),
      complete_since: ref(Time, "Time since which all pods count, within the window"),
      lost_requests: nullable(
        count(),
        "Requests of the window whose usage was lost in an outage of NATS; null for tokens that see a part of the rows",
      ),
    }),
    "About the window",
  ),
});
export type UsageAnswer = Static<typeof UsageAnswer>;
