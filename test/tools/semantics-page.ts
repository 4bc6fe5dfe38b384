import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { aggregations, type MetricConfig, type SloConfig, type SourceConfig } from "../../crds/config.ts";
import { eventCountRecipe, eventFractionRecipe } from "../../runtime/metrics/promql/event-recipes.ts";
import { type Meaning, meaningOf, meaningsOf } from "../../runtime/metrics/promql/meaning.ts";
import { burnTiers } from "../../runtime/metrics/slo/slo-status.ts";

/** The page that says what each aggregation means, made of the recipes that plan it. */
export const semanticsPage = fileURLToPath(new URL("../../docs/reference/semantics.md", import.meta.url));

const series = { name: "m", matchers: [] };
const sources: Readonly<Record<string, SourceConfig>> = {
  Gauge: { kind: "gauge", ...series },
  Counter: { kind: "counter", increase: "Extrapolated", ...series },
  "Counter, anchored": { kind: "counter", increase: "Anchored", ...series },
  Ratio: {
    kind: "ratio",
    increase: "Extrapolated",
    numerator: { name: "numerator", matchers: [] },
    denominator: { name: "denominator", matchers: [] },
  },
  "Classic histogram": { kind: "histogram", type: "Classic", increase: "Extrapolated", ...series },
  "Native histogram": { kind: "histogram", type: "Native", increase: "Extrapolated", ...series },
};
const days = [30, 7, 1];
const minStepSeconds = 60;

const intro = `# What each aggregation means

For readers of metrics who need to know exactly how a number is computed. You look up the PromQL and the merge of each
aggregation.

\`npm run generate\` writes this page from the recipes that plan queries (\`runtime/metrics/promql/\`). The
catalog serves the same as \`semantics\`, for each metric and aggregation. \`m\` is the metric's series in one store,
\`w\` the width of a point and \`g\` the grouping. The partials of all stores are added, or their minimum or maximum is
taken. The value is computed from them once, at the end.

A value of several partials needs all of them from the same store. A store that has a numerator, a bucket, a sum or a
count without the other partial adds nothing to that point, for that group. Its region is then \`partial\`, with
\`reasons\` that name the metric and the missing partial. A store without any of them is complete.

PromQL expressions also have \`count\` and \`fraction\`: the number of events, and the
share of observations up to the threshold of an objective. \`agg\` does not take them.
`;

const comparisons = `## Ranking

\`top=N\` orders the series of each metric by one value of the window, after the merge of all stores:

| \`by\` | Value of a series |
| --- | --- |
| \`max\` | its greatest point |
| \`avg\` | the arithmetic mean of its points, each with equal weight |
| \`last\` | its newest point |

- \`order=desc\` has the greatest value first, \`order=asc\` the lowest.
- Only finite points count, as in responses. A series without any is not ranked, in either order.
- Equal values are ordered by labels, in both orders: by label name, then by value; a missing label comes first.
- The series of the response are in the order of their ranks, each metric alone. \`other\` comes last: the sum of all
  series that are not among the top, at each point of those that have one. A point at which one of them is infinite is
  missing.
- \`other\` exists if the aggregation adds up over groups: \`sum\` of gauges, counters and histograms, and \`avg\` of
  counters, which is a rate. Averages of gauges and histograms, ratios, percentiles, minima and maxima have none.
- A percentile is ranked by its points, each computed from the merged buckets of all stores.

## Comparison

\`compare=D\` adds the points of the window that ends the duration D earlier. Its points are those that the same query
returns for that window: D is a multiple of the step, so that both have points at the same places.

- A point t of the window belongs to the point t - D. Durations are seconds: \`1d\` is 86,400 s and \`1w\` 604,800 s,
  whatever the clocks of a time zone do.
- The absolute change is value - earlier value. The relative change is the absolute one divided by the size of the
  earlier value, so that its sign is that of the absolute change. Both are null without an earlier point, the relative
  one also if the earlier value is 0.
- Infinite points are left out of both windows. \`meta.infinite_points\` counts those of the window itself.
- A ranking uses the points of the window itself. A series that only the earlier window has is not ranked.
`;

const sloIntro = `## Objectives

\`error_budget.total\` is 1 - objective. \`error_budget.spent\` is the share of bad events among all events of the
objective's window: a share of events, not of the budget. \`remaining\` is total - spent and falls below 0 once the
budget is overspent. A burn rate is the share of bad events of a window divided by \`total\`. A tier fires when both of
its windows burn faster than its factor. The windows of tiers are in proportion to the objective's own window. None is
shorter than the smallest step of the metric (${minStepSeconds} s in this table), so short objectives have tiers with
equal windows.

An objective of a gauge (\`over\`) counts slices of time instead of events. The value of a slice is the point of the
metric's default aggregation over it, merged over all stores. The slice is good if the value meets the condition. A
slice without a value, or with one that is not a number, is not counted. Windows are rounded up to whole slices.
`;

/** The text of the page. */
export function semanticsText(): string {
  return [
    intro,
    ...Object.entries(sources).map(([title, source]) => section(title, source)),
    comparisons,
    sloIntro,
    ...tierTable(),
  ].join("\n");
}

function section(title: string, source: SourceConfig): string {
  const allowed = aggregations.filter((aggregation) => isAllowed(source, aggregation));
  const metric = { id: "m", source, aggregations: allowed } as unknown as MetricConfig;
  const meanings = [...Object.entries(meaningsOf(metric)), ...measureMeanings(metric)];
  const rows = meanings.map(
    ([aggregation, meaning]) =>
      `| \`${aggregation}\` | ${meaning.value} | ${meaning.partials.map(partial).join("<br>")} |`,
  );
  const notes = [...new Set(meanings.flatMap(([, meaning]) => meaning.notes))].map((note) => {
    const own = meanings
      .filter(([, meaning]) => meaning.notes.includes(note))
      .map(([aggregation]) => `\`${aggregation}\``);
    return `- ${own.length === meanings.length ? "" : `${own.join(", ")}: `}${note}`;
  });
  return [
    `## ${title}`,
    "",
    "| Aggregation | Value of a point | Asked of each store, and over stores |",
    "| --- | --- | --- |",
    ...rows,
    "",
    ...notes,
    "",
  ].join("\n");
}

/** The measures besides the aggregations. */
function measureMeanings(metric: MetricConfig): readonly (readonly [string, Meaning])[] {
  const measures = { count: eventCountRecipe, fraction: (own: MetricConfig) => eventFractionRecipe(own, 1) };
  return Object.entries(measures).flatMap(([name, recipeFor]) => {
    try {
      return [[name, meaningOf(recipeFor(metric), metric)] as const];
    } catch {
      return [];
    }
  });
}

function isAllowed(source: SourceConfig, aggregation: (typeof aggregations)[number]): boolean {
  try {
    meaningsOf({ id: "m", source, aggregations: [aggregation] } as unknown as MetricConfig);
    return true;
  } catch {
    return false;
  }
}

function partial({ of_store: asked, over_stores: merged }: Meaning["partials"][number]): string {
  return `\`${asked}\`, ${merged}`;
}

function tierTable(): readonly string[] {
  const rows = days.flatMap((windowDays) => {
    const slo = { windowDays, burnRates: [14.4, 6, 3, 1] } as unknown as SloConfig;
    return burnTiers(slo, minStepSeconds).map(
      ({ longSeconds, shortSeconds, factor, severity }) =>
        `| ${windowDays} d | ${severity} | ${longSeconds} s | ${shortSeconds} s | ${factor} |`,
    );
  });
  return [
    "| Objective over | Severity | Long window | Short window | Factor |",
    "| --- | --- | --- | --- | --- |",
    ...rows,
    "",
  ];
}

if (import.meta.main) writeFileSync(semanticsPage, semanticsText());
