import type { MetricConfig, SloConfig } from "../../../crds/config.ts";
import { formatExpression } from "../../prometheus/language/format-expression.ts";
import { errorBudget } from "../slo/slo-status.ts";
import type { BurnTier } from "../slo/slo-windows.ts";

const secondMs = 1_000;
/** A made selector has no place in a text. */
const nowhere = { start: 0, end: 0 };

/** Labels and values that every selector of an expression names. */
export type Matchers = Readonly<Record<string, string>>;

/** The events of an objective over one window, as text in PromQL. */
interface Window {
  /** The share of bad events. */
  readonly bad: string;
  /** The number of events. */
  readonly total: string;
}

/** An objective, its metric and the matchers of its view. */
export interface BurnSource {
  readonly slo: SloConfig;
  readonly metric: MetricConfig;
  readonly matchers: Matchers;
}

/**
 * An expression in the PromQL subset of the API. It has a value exactly when one of the tiers fires as in
 * `GET /v1/metrics/slo`: the burn rate of the long window. Two tiers have at most ten leaves.
 */
export function burnExpression(source: BurnSource, tiers: readonly BurnTier[]): string {
  return tiers.map((tier) => tierExpression(source, tier)).join("\nor\n");
}

/** As in the assessment of an objective, only the long window needs the minimum of events. */
function tierExpression(source: BurnSource, { longSeconds, shortSeconds, factor }: BurnTier): string {
  const { slo } = source;
  const [long, short] = [windowOf(source, longSeconds), windowOf(source, shortSeconds)];
  return [
    "(",
    `  ${long.bad} / ${errorBudget(slo)} > ${factor}`,
    `  and ${short.bad} / ${errorBudget(slo)} > ${factor}`,
    `  and ${long.total} >= ${slo.minimumEvents}`,
    ")",
  ].join("\n");
}

function windowOf(source: BurnSource, seconds: number): Window {
  const { metric } = source;
  if (metric.source.kind === "ratio") return ratioWindow(source, seconds);
  const selected = selector(source, seconds);
  const fraction = `histogram_fraction(0, ${source.slo.threshold}, sum by (le) (rate(${selected})))`;
  return { bad: badShare(source.slo, fraction), total: `histogram_count(sum(increase(${selected})))` };
}

function ratioWindow(source: BurnSource, seconds: number): Window {
  return {
    bad: badShare(source.slo, `avg(avg_over_time(${selector(source, seconds)}))`),
    total: `sum(increase(${selector(source, seconds, ":total")}))`,
  };
}

function badShare({ counts }: SloConfig, singledOut: string): string {
  return counts === "Good" ? `(1 - ${singledOut})` : singledOut;
}

function selector({ metric, matchers }: BurnSource, seconds: number, suffix = ""): string {
  return formatExpression({
    kind: "selector",
    metric: `${metric.id}${suffix}`,
    matchers: Object.entries(matchers).map(([label, value]) => ({ label, op: "=", values: [value], span: nowhere })),
    rangeMs: seconds * secondMs,
    span: nowhere,
  });
}
