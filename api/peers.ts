import { Aggregation, LabelName, Labels, filterValuesMax, textLengthMax } from "./queries.ts";
import {
  closedObject,
  constant,
  described,
  either,
  integer,
  list,
  number,
  object,
  record,
  ref,
  share,
  text,
  words,
  type Static,
} from "./schema.ts";

/** Version of the format of partial requests and their responses; any other version is rejected. */
export const partialRequestVersion = 1;
/** Parts of a partial request besides the statistics. */
export const bucketsPart = "buckets";
export const newestPart = "newest";
export const exemplarsPart = "exemplars";
/** Greatest width of a point, and longest window of exemplars: 400 days. */
export const widthMsMax = 400 * 86_400_000;
/** Most names in a list. */
export const namesMax = 64;

/** Most points of one response of a store. Source: Prometheus HTTP API, "Range queries". */
export const pointsMax = 11_000;
export const intervalSecondsMax = 86_400;

const name = { minLength: 1, maxLength: textLengthMax };
/** The empty value is that of series without the label. */
const filterValue = { maxLength: textLengthMax };

/** Rules by which stores compute increases. */
export const increaseRules = ["Extrapolated", "Plain"] as const;

export const partialPoints = closedObject(
  {
    width_ms: integer("Width of a point in milliseconds", { minimum: 1_000, maximum: widthMsMax }),
    interval_seconds: number("Seconds between samples by which this region is weighed", {
      minimum: 1,
      maximum: intervalSecondsMax,
    }),
    increases: words(increaseRules, "Rule by which the stores compute increases"),
  },
  {
    step_ms: integer("Distance of two points in milliseconds. Default: `width_ms`. Earlier versions reject it", {
      minimum: 1_000,
      maximum: widthMsMax,
    }),
  },
);
export type PartialPoints = Static<typeof partialPoints>;

/**
 * The request of one runtime to another about a metric in its region: one partial of the canonical query. Rights are
 * in it as granted names. It holds no query language and no name of a store or of a series. Names are sorted, so that
 * equal requests have equal bytes; older runtimes reject a list of values in a filter, and an empty list or value.
 */
export const PartialAsk = closedObject(
  {
    schema_version: text("Version of the catalog with the metric", name),
    region: text("Region whose stores are read", name),
    regions: list(text(undefined, name), "All regions that the partial is merged over", {
      maxItems: namesMax,
    }),
    metric: text("Metric id", name),
    agg: ref(Aggregation, "Aggregation"),
    part: text(`A statistic of the aggregation, or ${bucketsPart}, ${newestPart}, ${exemplarsPart}`, name),
    tenant: text("Tenant of the series", name),
    filters: record(
      either([
        text(undefined, filterValue),
        list(text(undefined, filterValue), "Allowed values; an empty list allows all values", {
          maxItems: filterValuesMax,
        }),
      ]),
      { propertyNames: ref(LabelName), description: "Values of labels" },
    ),
    group_by: list(ref(LabelName), "Labels to group by", { maxItems: namesMax }),
  },
  {
    slo: text("Objective whose events are counted. Default: none", name),
    environments: list(text(undefined, filterValue), "Defaults to all environments", {
      maxItems: namesMax,
    }),
    points: described(partialPoints, "Points of a range; absent for one time"),
    quantile: share("Quantile of a native histogram, to detect its layout"),
  },
);
export type PartialAsk = Static<typeof PartialAsk>;

/** Latest time of ECMAScript, in Unix milliseconds. */
export const timeMsMax = 8.64e15;
const timeMs = integer("Unix milliseconds", { minimum: 0, maximum: timeMsMax });

export const PartialTimes = either([
  closedObject({
    start_ms: timeMs,
    count: integer("Number of points", { minimum: 1, maximum: pointsMax }),
  }),
  closedObject({ time_ms: timeMs }),
  closedObject({ from_ms: timeMs, to_ms: timeMs }),
]);
export type PartialTimes = Static<typeof PartialTimes>;

export const PartialQuestion = either([
  closedObject({
    version: constant(partialRequestVersion, "Version of the format"),
    ask: ref(PartialAsk, "What is requested"),
    over: ref(PartialTimes, "Times of the values"),
  }),
  described(
    closedObject({
      version: constant(partialRequestVersion, "Version of the format"),
      probe: described(
        closedObject({ region: text("Name of the region", name) }),
        "Asks only whether a region is served",
      ),
    }),
    "Whether a region is served",
  ),
]);

export const PartialAnswer = object(
  {},
  {
    samples: list(
      object({
        labels: record(text(), { description: "Labels of the grouping" }),
        value: number("Value; of `newest` Unix seconds"),
      }),
      "Values at one time",
    ),
    exemplars: list(
      object({
        labels: ref(Labels, "Labels of the grouping"),
        trace_id: text("Id of the trace"),
        value: number("Observed value"),
        timestamp_ms: number("Unix milliseconds"),
      }),
      "Newest exemplars of each group",
    ),
    increases: list(words(increaseRules), "Rules by which the stores of the region compute increases"),
  },
);
export type PartialAnswer = Static<typeof PartialAnswer>;
