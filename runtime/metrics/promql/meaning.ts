import type { CatalogEntry } from "../../../api/catalog.ts";
import type { Aggregation, MetricConfig, SeriesConfig, SourceConfig } from "../../../crds/config.ts";
import { boundLabel, printVector, type Vector } from "./promql.ts";
import { recipeOf } from "./recipe-of.ts";
import type { QuantileRecipe, Recipe, ScalarRecipe, StoreScope } from "./recipe.ts";

/** The definition of one aggregation of one metric, printed from its recipe. */
export type Meaning = NonNullable<CatalogEntry["semantics"][Aggregation]>;

/** Width that stands for `w` in the printed query; no recipe holds this number. */
const widthMs = 7_777_777;
const name = (series: SeriesConfig, source: SourceConfig): string => {
  if (source.kind !== "ratio") return "m";
  return series === source.numerator ? "numerator" : "denominator";
};

/** The definitions of all aggregations of a metric. */
export function meaningsOf(metric: MetricConfig): CatalogEntry["semantics"] {
  return Object.fromEntries(
    metric.aggregations.map((aggregation) => [aggregation, meaningOf(recipeOf(metric, aggregation), metric)]),
  );
}

/** The definition of one recipe of a metric. */
export function meaningOf(recipe: Recipe, { source }: Pick<MetricConfig, "source">): Meaning {
  const notes = [
    boundaryNote,
    ...increaseNotes(recipe, source),
    ...partNotes(recipe),
    ...quantileNotes(recipe),
    ...timeNotes(recipe),
  ];
  if (recipe.kind === "quantile") {
    const buckets = { name: "buckets", of_store: printed(recipe.buckets(scopeOf(source))), over_stores: "sum" };
    return {
      value: `quantile ${recipe.quantile} of buckets, taken once after all stores are merged`,
      partials: [buckets],
      notes,
    };
  }
  return { value: recipe.value, partials: partialsOf(recipe, source), notes };
}

function partialsOf({ statistics }: ScalarRecipe, source: SourceConfig): Meaning["partials"] {
  return statistics.map(({ name: own, expr, merge, weighted }) => ({
    name: own,
    of_store: printed(expr(scopeOf(source))),
    over_stores: weighted ? `${merge}, each times its store's seconds between samples` : merge,
  }));
}

function scopeOf(source: SourceConfig): StoreScope {
  return {
    select: (series, suffix = "") => ({
      name: `${name(series, source)}${suffix}`,
      matchers: series.matchers
        .filter(({ label }) => label === "le")
        .map(({ label, op, value }) => ({ label, op: "=", value: op === "Equal" ? value : "threshold" })),
    }),
    by: ["g"],
    rangeMs: widthMs,
  };
}

/** `sum by(g)(increase(m[w]))` */
function printed(vector: Vector): string {
  return printVector(vector, "LeftOpen")
    .replaceAll(/\{__name__="(\w+)"\}/gu, "$1")
    .replaceAll(/\{__name__="(\w+)",/gu, "$1{")
    .replaceAll(`${widthMs}ms`, "w")
    .replaceAll(new RegExp(String.raw`label_replace\((.+?),"${boundLabel}","\$1","le","[^"]*"\)`, "gu"), "$1")
    .replaceAll(boundLabel, "le")
    .replaceAll("by(g,le)", "by(g, le)");
}

const boundaryNote = "A point at t covers (t - w, t]: a sample at t - w belongs to the point before.";

function increaseNotes({ needs }: Recipe, source: SourceConfig): readonly string[] {
  if (!needs.increases) return [];
  return "increase" in source && source.increase === "Anchored"
    ? [
        "Increases are anchored: the rise from the last sample before the point to the last one in it, not " +
          "extrapolated.",
      ]
    : [
        "Increases are those of the store: Prometheus extrapolates to the edges of the point, VictoriaMetrics " +
          "does not. Kinds are never added.",
      ];
}

function partNotes(recipe: Recipe & (ScalarRecipe | QuantileRecipe)): readonly string[] {
  if (recipe.kind === "quantile") return [];
  if (recipe.statistics.length === 1) return [];
  const noun = ({ name: own, noun: said = own }: ScalarRecipe["statistics"][number]): string => said;
  const zero = recipe.statistics.filter(({ absent }) => absent === "none").map(noun)[0];
  const needed = recipe.statistics.filter(({ absent }) => absent !== "none").map(noun);
  const without = `${needed.join(" and ")} but no ${zero}`;
  const never = `A store with a ${without} adds 0 to it: what never happened has no series.`;
  return [
    ...(zero === undefined ? [] : [never]),
    `A store without its ${needed.join(" or ")} at a point adds nothing to it, and its region is reported as partial.`,
  ];
}

function quantileNotes(recipe: Recipe & (ScalarRecipe | QuantileRecipe)): readonly string[] {
  if (recipe.kind !== "quantile") return [];
  return recipe.histogram === "Classic"
    ? [
        "Inside a bucket the quantile is linear; stores with other bounds are merged at the bounds that they " +
          "share, or rejected.",
        "A bound that some series of a store lack is left out there.",
        "A store without the bucket of +Inf, or without any other one, adds nothing to a point, and its region is " +
          "reported as partial.",
      ]
    : [
        "Inside a bucket the quantile is exponential, as in Prometheus 3, also where a store of version 2 is " +
          "linear; around zero and in custom buckets it is linear.",
      ];
}

function timeNotes(recipe: Recipe & (ScalarRecipe | QuantileRecipe)): readonly string[] {
  const isAdditive =
    recipe.kind === "scalar" && recipe.statistics.every(({ isAdditiveOverTime }) => isAdditiveOverTime);
  return isAdditive
    ? []
    : ["Points of narrower windows do not add up to one of a wider window: request the step that is needed."];
}
