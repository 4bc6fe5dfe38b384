import { compileExpression } from "../../../runtime/prometheus/compile/compile.ts";
import type { KnownMetric } from "../../../runtime/prometheus/compile/program.ts";
import { parseExpression, typeOf } from "../../../runtime/prometheus/language/parse-expression.ts";
import type { Bench, Half, Stage } from "../harness/bench.ts";
import { quantile, type Measured } from "../harness/figures.ts";

/** What an alert rule asks: two windows of a ratio of two counters, 300 characters. */
const expression =
  'sum by (region) (increase(errors{tenant="brand-a", region=~"eu|us"}[1h])) / sum by (region) ' +
  '(increase(requests{tenant="brand-a", region=~"eu|us"}[1h])) > 14.4 * 0.001 and sum by (region) ' +
  '(increase(errors{tenant="brand-a"}[5m])) / sum by (region) (increase(requests{tenant="brand-a"}[5m])) > 14.4 * 0.001';

const charactersMin = 300;

/** Needs no server: the program is asked for nothing. */
export const expressions: Half<Stage> = {
  name: "expressions",
  pods: 1,
  open: () => Promise.resolve({ close: () => Promise.resolve() }),
  parts: { expressions: measure },
};

const counter = {
  labels: ["region"],
  aggregations: ["sum"],
  defaultAggregation: "sum",
  minStepSeconds: 60,
  maxGroupBy: 1,
  source: { kind: "counter", increase: "Extrapolated", name: "total", matchers: [] },
} as const;
const catalog: ReadonlyMap<string, KnownMetric> = new Map(
  ["errors", "requests"].map((id) => [id, { metric: { id, ...counter }, thresholds: [] }]),
);

/** Reading an expression, checking its types and compiling it to four queries. */
function measure(_stage: Stage, bench: Bench): Promise<readonly Measured[]> {
  if (expression.length < charactersMin) throw new Error(`the expression has ${expression.length} characters`);
  const bar = { atMost: 0.2 };
  const name = `an expression of ${expression.length} characters, parsed and compiled: p99`;
  return Promise.resolve([{ name, unit: "ms", values: p99s(bench), bar }]);
}

/** The 99th percentile of each round, after a round that only warms up. */
function p99s(bench: Bench): readonly number[] {
  const timed = (): number => {
    const startedMs = performance.now();
    const tree = parseExpression(expression);
    typeOf(tree);
    compileExpression(tree, (id) => catalog.get(id));
    return performance.now() - startedMs;
  };
  const count = bench.isSmall ? 100 : 10_000;
  Array.from({ length: count }, timed);
  return Array.from({ length: bench.rounds }, () => quantile(Array.from({ length: count }, timed), 0.99));
}
