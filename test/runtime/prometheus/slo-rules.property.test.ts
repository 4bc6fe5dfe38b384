import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { MetricConfig, SloConfig } from "../../../crds/config.ts";
import { createTimeSlices } from "../../../limits/clock.ts";
import type { MetricSelector, SelectorSeries } from "../../../runtime/metrics/request/selector.ts";
import {
  assessSlo,
  type BurnTier,
  burnTiers,
  type EventCounts,
  type TierBurn,
  windowsOf,
} from "../../../runtime/metrics/slo/slo-status.ts";
import { compileExpression } from "../../../runtime/prometheus/compile/compile.ts";
import { evaluate } from "../../../runtime/prometheus/evaluate/evaluate.ts";
import { parseExpression } from "../../../runtime/prometheus/language/parse-expression.ts";
import { burnExpression } from "../../../runtime/prometheus/slo-rules.ts";
import { exampleCatalog } from "./example-catalog.ts";

const { metrics } = exampleCatalog;
const slices = createTimeSlices();
const metricOf = (id: string): MetricConfig => {
  const metric = metrics.find((one) => one.id === id);
  if (metric === undefined) throw new Error(`the examples have no ${id}`);
  return metric;
};
const ratio = metricOf("auth_success_rate");
const histogram = metricOf("withdraw_tat_p95_ms");

/** Increases of the two statistics over one window; undefined without a series. */
interface Read {
  readonly singledOut: number | undefined;
  readonly total: number | undefined;
}

const slos: fc.Arbitrary<readonly [SloConfig, MetricConfig]> = fc
  .record({
    objective: fc.constantFrom(0.5, 0.9, 0.95, 0.99, 0.999, 0.9999),
    counts: fc.constantFrom("Good", "Bad"),
    windowDays: fc.integer({ min: 1, max: 90 }),
    minimumEvents: fc.integer({ min: 1, max: 300 }),
    shares: fc.array(fc.double({ min: 0.001, max: 0.9, noNaN: true }), { minLength: 4, maxLength: 4 }),
    isRatio: fc.boolean(),
  })
  .map(({ shares, isRatio, ...slo }) => {
    // Every factor is below 1 / (1 − objective), the fastest first.
    const burnRates = shares.toSorted((a, b) => b - a).map((share) => share / (1 - slo.objective));
    const threshold = isRatio ? {} : { threshold: 14_400_000 };
    const metric = isRatio ? ratio : histogram;
    return [{ name: "a", domain: "b", metric: metric.id, public: false, burnRates, ...slo, ...threshold }, metric];
  });

/** Events that each wider window has on top of the window before. */
const added = fc.record({
  total: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400 })),
  badShare: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
});
/** Windows below these have no series: of events, and of those that are singled out. */
const silences = fc.record({ total: fc.nat(9), singledOut: fc.nat(9) });
type Added = { readonly total: number; readonly badShare: number };

function readsOf(
  slo: SloConfig,
  windows: readonly number[],
  parts: readonly Added[],
  silent: { readonly total: number; readonly singledOut: number },
) {
  let [total, bad] = [0, 0];
  return new Map(
    windows.map((seconds, at): readonly [number, Read] => {
      const part = parts[at] ?? { total: 0, badShare: 0 };
      total += part.total;
      bad += part.total * part.badShare;
      const singledOut = slo.counts === "Good" ? total - bad : bad;
      return [
        seconds,
        {
          total: total === 0 && at < silent.total ? undefined : total,
          singledOut: singledOut === 0 && at < silent.singledOut ? undefined : singledOut,
        },
      ];
    }),
  );
}

/** What the SLO endpoint makes of the reads. */
function countsOf(slo: SloConfig, { singledOut, total }: Read): EventCounts | undefined {
  const known = singledOut ?? (slo.threshold === undefined ? 0 : undefined);
  if (known === undefined || total === undefined) return undefined;
  return { total, good: slo.counts === "Good" ? known : total - known };
}

/** What a leaf makes of them. */
function valueOf({ measure }: MetricSelector, { singledOut, total = Number.NaN }: Read): number {
  if (measure.kind === "count") return total;
  return (singledOut ?? (measure.kind === "fraction" ? Number.NaN : 0)) / total;
}

async function alertOf(
  slo: SloConfig,
  metric: MetricConfig,
  tiers: readonly BurnTier[],
  reads: ReadonlyMap<number, Read>,
) {
  const expression = parseExpression(burnExpression({ slo, metric, matchers: { tenant: "lumen" }, nowMs: 0 }, tiers));
  const thresholds = slo.threshold === undefined ? [] : [slo.threshold];
  const { selectors, program } = compileExpression(expression, (id) =>
    id === metric.id ? { metric, thresholds } : undefined,
  );
  const seriesOf = (selector: MetricSelector): readonly SelectorSeries[] => {
    const value = valueOf(
      selector,
      reads.get(selector.widthSeconds ?? 0) ?? { singledOut: undefined, total: undefined },
    );
    return Number.isNaN(value) ? [] : [{ labels: {}, values: Float64Array.of(value) }];
  };
  const result = {
    stamps: { startMs: 0, stepMs: 60_000, count: 1 },
    selectors: selectors.map((selector) => ({ series: seriesOf(selector) })),
  };
  const evaluated = await evaluate(program, result, { isInstant: true, slices });
  if (evaluated.type === "scalar") throw new Error("an alert is a vector");
  return evaluated.series[0]?.values[0];
}

/** Beside the limit, the last digit of a quotient would decide. */
function isClear({ longRate = 0, shortRate = 0, factor }: TierBurn): boolean {
  return [longRate, shortRate].every((rate) => Math.abs(rate - factor) > 1e-9 * factor);
}

const isFiring = ({ longRate = 0, shortRate = 0, factor, tooFew }: TierBurn): boolean =>
  !tooFew && longRate > factor && shortRate > factor;

const digits = (value: number | undefined): string | undefined => value?.toPrecision(9);

test("an alert fires exactly when the SLO endpoint has a firing tier, with the burn rate of its long window", async () => {
  const seen = new Map<string, number>();
  const property = fc.asyncProperty(
    slos,
    fc.array(added, { minLength: 9, maxLength: 9 }),
    silences,
    async ([slo, metric], parts, silent) => {
      const windows = windowsOf(slo, metric.minStepSeconds);
      const reads = readsOf(slo, windows, parts, silent);
      const counts = new Map(
        [...reads].flatMap(([seconds, read]) => {
          const events = countsOf(slo, read);
          return events === undefined ? [] : [[seconds, events] as const];
        }),
      );
      const { status, burns, budget } = assessSlo(slo, counts, metric.minStepSeconds);
      fc.pre(burns.every(isClear));
      const tiers = burnTiers(slo, metric.minStepSeconds);
      const [page, ticket] = await Promise.all(
        (["page", "ticket"] as const).map((severity) => {
          const own = tiers.filter((tier) => tier.severity === severity);
          return alertOf(slo, metric, own, reads);
        }),
      );
      const rateOf = (severity: string) => burns.find((burn) => burn.severity === severity && isFiring(burn))?.longRate;
      expect(digits(page)).toBe(digits(rateOf("page")));
      expect(digits(ticket)).toBe(digits(rateOf("ticket")));
      const firing = { page: page !== undefined, ticketOnly: page === undefined && ticket !== undefined };
      const isSpent = (budget.remaining ?? 1) <= 0;
      expect(isSpent ? firing : { page: status === "critical", ticketOnly: status === "increasing" }).toEqual(firing);
      seen.set(status, (seen.get(status) ?? 0) + 1);
    },
  );
  await fc.assert(property, { seed: 19, numRuns: 1_000 });
  expect(
    [...seen]
      .filter(([, count]) => count > 20)
      .map(([status]) => status)
      .sort(),
  ).toEqual(["critical", "increasing", "insufficient_data", "ok", "recovering"]);
});
