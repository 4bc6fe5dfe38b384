import { CorrelationId, Duration, Time } from "./documents.ts";
import { Aggregation, RegionState } from "./queries.ts";
import {
  count,
  described,
  flag,
  list,
  nullable,
  number,
  numberOrNull,
  object,
  ref,
  share,
  text,
  words,
  type Static,
} from "./schema.ts";

export const sloStates = ["ok", "increasing", "critical", "recovering", "insufficient_data", "late", "failed"] as const;
export type SloState = (typeof sloStates)[number];
/** The same states, the worst first. */
export const sloStatesByRank = [
  "critical",
  "increasing",
  "recovering",
  "failed",
  "late",
  "insufficient_data",
  "ok",
] as const satisfies readonly SloState[];
export type SloStatesByRank = typeof sloStatesByRank;
/** Most points of a history. */
const historyPointsMax = 60;

export const BurnRate = object(
  { window: ref(Duration, "Length of the window") },
  { rate: number("Ratio of bad events to the error budget; absent without events") },
);
export type BurnRate = Static<typeof BurnRate>;

const errorBudget = object(
  { total: share("1 minus the objective") },
  {
    spent: number("Ratio of bad events, in a calendar period of those so far; absent without events"),
    remaining: number("`total` minus `spent`, negative if overspent; absent without events"),
  },
);
const events = object({ good: number("Good events"), total: number("All events") });

export const SloBudgetBody = object(
  { error_budget: described(errorBudget, "Ratios of all events in the window") },
  {
    sli: share("Ratio of good events in the window; absent without events"),
    events: described(events, "Events in the window; absent if there are none"),
  },
);
export type SloBudgetBody = Static<typeof SloBudgetBody>;

export const SloCorrection = object({
  reason: text("Why the events do not count"),
  active: flag("True at `at`: no alert fires then"),
  seconds: count("Seconds of the window that do not count"),
  from: ref(Time, "Start of the current or the last interval"),
  to: ref(Time, "End of that interval"),
});
export type SloCorrection = Static<typeof SloCorrection>;

export const sliceOperators = ["AtMost", "Below", "AtLeast", "Above"] as const;

/** The condition of an objective over time slices, and how many of its slices are known. */
export const SloOver = object(
  {
    aggregation: ref(Aggregation, "Aggregation of the metric over each slice: its default one"),
    operator: words(sliceOperators, "Relation to the threshold that makes a slice good"),
    threshold: number("Threshold in the unit of the metric"),
    slice_seconds: count("Length of a slice"),
    slices: count("Slices in the window"),
    missing_slices: count("Slices without a value, which are neither good nor bad"),
  },
  {
    slices_to_come: count(
      "Slices until the end of the calendar period, without those of corrections, which `error_budget.spent` counts " +
        "as good; absent for rolling windows",
    ),
  },
);

export const calendarPeriods = ["Month", "Quarter"] as const;

/** The calendar window of an objective. */
export const SloCalendar = object({
  period: words(calendarPeriods, "Calendar month, or quarter"),
  time_zone: text("Zone of the IANA time zone database whose clock the period follows"),
  from: ref(Time, "Start of the period at `at`"),
  to: ref(Time, "End of the period, which is the start of the next one"),
});
export type SloCalendar = Static<typeof SloCalendar>;
const calendarBody = ref(SloCalendar, "Calendar period that the window is a part of; absent for rolling windows");

export const Slo = object(
  {
    name: text("Name of the objective"),
    domain: text("Domain of the objective"),
    metric: text("Metric id"),
    objective: share("Required ratio of good events"),
    window_days: count("Length of the objective's window, or of its calendar period, in days"),
    minimum_events: count("Minimum number of events, or of slices with a value, in the window for a status"),
    at: ref(Time, "End of all windows"),
    tenant: text("Tenant of the events"),
    regions: list(ref(RegionState), "State of each region that was read"),
    error_budget: described(errorBudget, "Ratios of all events in the window, without those of corrections"),
    burn: described(
      object(
        {},
        {
          fast: ref(BurnRate, "Long window of the fastest tier"),
          slow: ref(BurnRate, "Long window of the slowest tier"),
        },
      ),
      "Long windows of the fastest and the slowest tier",
    ),
    tiers: list(
      object({
        severity: words(["page", "ticket"], "`page` makes the objective critical, `ticket` increasing"),
        factor: number("Burn rate above which a window fires"),
        long: ref(BurnRate, "Long window"),
        short: ref(BurnRate, "Short window"),
      }),
      "Pairs of windows that fire together, fastest first",
    ),
    status: words(sloStates, "Status of the objective"),
  },
  {
    title: text("Display name"),
    calendar: calendarBody,
    sli: share("Ratio of good events in the window; absent without events"),
    events: described(events, "Events in the window, or its time slices with a value; absent if there are none"),
    over: ref(SloOver, "Condition on a gauge; absent for objectives that count events"),
    corrections: list(ref(SloCorrection), "Corrections that concern the window; absent if the objective has none"),
    uncorrected: ref(SloBudgetBody, "The same figures with the events of corrections; absent without corrections"),
    exhaustion_seconds: count(
      "Seconds until the budget is spent at the rate of `burn.fast`; 0 if it is spent, absent if the rate does not " +
        "spend it within the window, or before the calendar period ends",
    ),
  },
);
export type Slo = Static<typeof Slo>;

export const SloAnswer = object({
  data: list(ref(Slo), "Objectives that the caller may read"),
  meta: described(
    object({
      correlation_id: ref(CorrelationId, "Digest of the body, equal for equal contents"),
      schema_version: text("Versions of the catalogs that were read; `none` without an objective"),
      partial: flag("True if some data is missing"),
    }),
    "About the response",
  ),
});
export type SloAnswer = Static<typeof SloAnswer>;

export const StatusAnswer = object({
  tenant: text("Tenant of the page"),
  status: words(sloStates, "Worst status of all objectives"),
  data: list(
    object(
      {
        name: text("Name of the objective"),
        title: text("Display name"),
        domain: text("Domain of the objective"),
        objective: share("Required ratio of good events"),
        window_days: count("Length of the objective's window, or of its calendar period, in days"),
        at: ref(Time, "End of the window"),
        status: words(sloStates, "Status of the objective"),
        regions: list(text(), "Regions of the objective"),
        missing_regions: list(text(), "Regions without complete data"),
      },
      {
        calendar: calendarBody,
        sli: share("Ratio of good events in the window; absent without events"),
        budget_remaining: number("Remaining ratio of the error budget; absent without events"),
        corrections: list(ref(SloCorrection), "Corrections that concern the window; absent if the objective has none"),
        uncorrected: described(
          object(
            {},
            {
              sli: share("Ratio of good events in the window; absent without events"),
              budget_remaining: number("Remaining ratio of the error budget; absent without events"),
            },
          ),
          "The same figures with the events of corrections; absent without corrections",
        ),
      },
    ),
    "Public objectives",
  ),
});
export type StatusAnswer = Static<typeof StatusAnswer>;

export const SloHistoryPoint = object({
  at: ref(Time, "End of the window"),
  sli: nullable(share(), "Ratio of good events in the window; null without events"),
  remaining: numberOrNull("As `error_budget.remaining` at that time; null without events"),
});
export type SloHistoryPoint = Static<typeof SloHistoryPoint>;

export const SloHistoryAnswer = object({
  data: list(ref(SloHistoryPoint), "Oldest first", { maxItems: historyPointsMax }),
  meta: described(
    object(
      {
        correlation_id: ref(CorrelationId, "Digest of the body, equal for equal contents"),
        schema_version: text("Version of the catalog that was read"),
        name: text("Name of the objective"),
        domain: text("Domain of the objective"),
        metric: text("Metric id"),
        tenant: text("Tenant of the events"),
        window_days: count("Length of the objective's window in days, or of the last point's calendar period"),
        objective: share("Required ratio of good events"),
        step_seconds: count("Seconds between two points"),
        regions: list(ref(RegionState), "State of each region that was read"),
        partial: flag("True if some data is missing"),
      },
      { calendar: calendarBody },
    ),
    "About the objective",
  ),
});
export type SloHistoryAnswer = Static<typeof SloHistoryAnswer>;
