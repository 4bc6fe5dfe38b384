import * as fc from "fast-check";
import type { Aggregation } from "../../../../crds/config.ts";
import { kinds, type AskedSeries, type MetricId } from "./asked.ts";
import { dataStartMs, environments, fineSeconds, psps, services, tenants } from "./generated-series.ts";

/** A query as a caller would write it; times are not aligned to anything. */
export interface RandomQuery extends AskedSeries {
  readonly fromMs: number;
  readonly seconds: number;
  readonly step: string | undefined;
  readonly downsample: string | undefined;
}

const aggregationsOf: Readonly<Record<(typeof kinds)[MetricId]["kind"], readonly Aggregation[]>> = {
  gauge: ["avg", "sum", "min", "max"],
  counter: ["avg", "sum", "min", "max"],
  anchored: ["avg", "sum", "min", "max"],
  ratio: ["avg"],
  histogram: ["avg", "sum", "p50", "p95", "p99"],
  anchoredHistogram: ["avg", "sum", "p50", "p95", "p99"],
  native: ["avg", "sum", "p50", "p95", "p99"],
};

/** Queries over the generated data. `more` are labels to group by besides those of the series. */
export function randomQuery(metrics: readonly MetricId[], more: readonly string[] = []): fc.Arbitrary<RandomQuery> {
  return fc.constantFrom(...metrics).chain((metric) => {
    const coarse = metric === "slow" || metric === "slow_gauge";
    const hasPsp = kinds[metric].name === "payments_total";
    const groupable = ["environment", "service", "tenant", ...(hasPsp ? ["psp"] : []), ...more];
    const steps = coarse ? ["20m", "3601s", "2h"] : ["60s", "77s", "2m", "5m"];
    return fc.record({
      metric: fc.constant(metric),
      agg: fc.constantFrom(...aggregationsOf[kinds[metric].kind]),
      tenant: fc.constantFrom(...tenants),
      filters: fc.record(
        {
          environment: fc.constantFrom(...environments),
          service: fc.constantFrom(...services),
          ...(hasPsp ? { psp: fc.constantFrom(...psps) } : {}),
        },
        { requiredKeys: [] },
      ),
      groupBy: fc.subarray(groupable, { maxLength: Math.min(4, groupable.length) }),
      fromMs: fc
        .integer({ min: -600, max: coarse ? 8 * 86_400 : fineSeconds })
        .map((second) => dataStartMs + second * 1_000 + 137),
      seconds: coarse ? fc.integer({ min: 7_300, max: 9 * 86_400 }) : fc.integer({ min: 420, max: 2 * 3_600 }),
      step: fc.option(fc.constantFrom(...steps), { nil: undefined }),
      downsample: fc.option(fc.constantFrom("1m", "5m"), { nil: undefined }),
    });
  });
}

/** The parameters of a query's URL. */
export function pairsOf(query: RandomQuery): readonly (readonly [name: string, value: string])[] {
  const optional = { step: query.step, downsample: query.downsample, group_by: query.groupBy.join(",") || undefined };
  return [
    ["metric", query.metric],
    ["agg", query.agg],
    ["from", new Date(query.fromMs).toISOString()],
    ["to", new Date(query.fromMs + query.seconds * 1_000).toISOString()],
    ["filter[tenant]", query.tenant],
    ...Object.entries(query.filters).map(([label, value]) => [`filter[${label}]`, value] as const),
    ...Object.entries(optional).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  ];
}
