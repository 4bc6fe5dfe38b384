import { Time } from "./documents.ts";
import { count, described, flag, list, nullable, number, object, ref, text, words, type Static } from "./schema.ts";

/** Lengths of an interval. */
export const deliveryStepNames = ["1m", "5m", "15m", "1h"] as const;
export const deliveryGroups = ["partner", "tenant"] as const;
export const deliveryStatsRowsMax = 3_000;
export const deliveryStatsHours = 48;

const milliseconds = number(undefined, { minimum: 0 });

const figures = {
  accepted: nullable(
    count("Accepted events"),
    "Accepted events; null if rows or the token are restricted to partners, since an event has no partner",
  ),
  attempts: count("Requests to partners"),
  delivered: count("Deliveries that succeeded"),
  failed: count("Deliveries that ended without success: rejected by the partner, or dead letters"),
  retried: count("Failed attempts that are followed by a retry"),
  p50_ms: nullable(milliseconds, "Median duration of attempts in milliseconds, within 5 %; null without any"),
  p95_ms: nullable(milliseconds, "95th percentile of the durations in milliseconds, within 5 %; null without any"),
};

export const DeliveryTotals = object(figures);
export type DeliveryTotals = Static<typeof DeliveryTotals>;

export const DeliveryStatsRow = object({
  at: ref(Time, "Start of the interval"),
  partner: nullable(text(), "Partner, as `namespace/name`; null unless rows are grouped by partner"),
  tenant: nullable(text(), "Tenant; null unless rows are grouped by tenant"),
  ...figures,
});
export type DeliveryStatsRow = Static<typeof DeliveryStatsRow>;

export const DeliveryStats = object(
  {
    data: list(
      ref(DeliveryStatsRow),
      "Rows, the oldest first. Without groups, every interval has a row; with groups, only those with figures",
      { maxItems: deliveryStatsRowsMax },
    ),
    meta: described(
      object(
        {
          from: ref(Time, "Start of the window"),
          to: ref(Time, "End of the window"),
          step_seconds: count("Length of an interval in seconds"),
          group_by: nullable(words(deliveryGroups), "What rows are grouped by; null without groups"),
          complete: flag("False if figures of the window may be missing"),
        },
        { complete_from: ref(Time, "Start of the part of the window whose figures are complete") },
      ),
      "About the window",
    ),
  },
  { totals: ref(DeliveryTotals, "Figures of all rows, with the percentiles of the whole window") },
);
export type DeliveryStats = Static<typeof DeliveryStats>;
