import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dataStartMs } from "../runtime/metrics/oracle/generated-series.ts";
import type { PrometheusHandle } from "../support/prometheus.ts";
import { runsOf } from "../support/soak.ts";
import { parametersOf } from "./oracle/answers.ts";
import { forms, randomLeaf, writeLeaf, formOf, type LeafChoice } from "./oracle/expressions.ts";
import { fullSeries, regions, tenants } from "./oracle/full-series.ts";
import { govern, startHolding, type Governed } from "./oracle/governed.ts";

const seed = 20_261_126;
const soakMs = 600_000;
const runs = runsOf(500);
const endMs = dataStartMs + 7_200_000;

let stores: readonly PrometheusHandle[] = [];
beforeAll(async () => {
  const series = fullSeries();
  const of = (region: string) => series.filter(({ labels }) => labels["region"] === region);
  stores = await Promise.all(regions.map((region) => startHolding(of(region))));
});
afterAll(async () => Promise.all(stores.map((store) => store.stop())));

/** Metrics that a native query computes. */
const asked = forms.filter((form) => form.native !== undefined);
const windowSeconds: Readonly<Record<string, number>> = { "1m": 60, "2m": 120, "5m": 300, "15m": 900 };

/** A leaf with at most one value for each filter, and its tenant, as a native query has them. */
const singleLeaf = fc
  .record({ selector: randomLeaf, form: fc.constantFrom(...asked), window: fc.constantFrom("1m", "2m", "5m", "15m") })
  .map(({ selector, form, window }): LeafChoice => {
    const filters = Object.entries(selector.filters).map(([label, values]) => [label, values.slice(0, 1)] as const);
    return { ...selector, form: form.name, window, filters: Object.fromEntries(filters) };
  });

/** Rights and limits, each of which refuses something. */
const rights = fc.record({
  tenants: fc.subarray([...tenants], { minLength: 1 }),
  regions: fc.oneof(fc.constant(["*"]), fc.subarray([...regions], { minLength: 1 })),
  environments: fc.constantFrom(["*"], ["prod"]),
  metrics: fc.constantFrom(["*"], ["lag", "payments"], ["latency", "success", "sizes"]),
});
const limits = fc.record({
  maxGroupBy: fc.constantFrom(1, 4),
  maxWindowSeconds: fc.constantFrom(300, 400 * 86_400),
  minStepSeconds: fc.constantFrom(10, 120),
  maxSeries: fc.constantFrom(2, 50),
});
const scopes = fc.constantFrom<readonly string[]>(regions, ["eu"]);

interface NativeAnswer {
  readonly isRefused: boolean;
  readonly regions: readonly string[];
}

/** The native query over the one point that an instant of the leaf is. */
async function native(governed: Governed, selector: LeafChoice, tenant: string): Promise<NativeAnswer> {
  const { metric, native: aggregation = "" } = formOf(selector);
  const seconds = windowSeconds[selector.window] ?? 0;
  const filters = Object.entries(selector.filters).map(([label, [value = ""]]) => [`filter[${label}]`, value]);
  const parameters = new URLSearchParams([
    ["metric", metric],
    ["agg", aggregation],
    ["from", new Date(endMs - seconds * 1_000).toISOString()],
    ["to", new Date(endMs).toISOString()],
    ["step", `${seconds}s`],
    ["filter[tenant]", tenant],
    ...(filters as [string, string][]),
    ...((selector.by ?? []).length === 0 ? [] : [["group_by", (selector.by ?? []).join(",")] as [string, string]]),
  ]);
  const { status, body } = await governed.get(`/v1/metrics/query?${parameters.toString()}`);
  const { meta } = JSON.parse(body) as {
    readonly meta?: { readonly regions?: readonly { readonly region: string }[] };
  };
  return { isRefused: status !== 200, regions: (meta?.regions ?? []).map(({ region }) => region) };
}

test(
  `an expression is refused when, and only when, a leaf or their union of regions is, over ${runs} random rights`,
  { timeout: soakMs },
  async () => {
    const counts = { refused: 0, answered: 0 };
    const cases = fc.record({
      selectors: fc.array(singleLeaf, { minLength: 1, maxLength: 3 }),
      tenant: fc.constantFrom(...tenants),
      other: fc.option(fc.constantFrom(...tenants), { nil: undefined, freq: 3 }),
      rights,
      limits,
      scopes,
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ selectors, tenant, other, rights: caller, limits: bounds, scopes: scope }) => {
        const urls = Object.fromEntries(regions.map((region, index) => [region, stores[index]?.url ?? ""]));
        const options = { caller, limits: bounds, metrics: { complianceScope: { regions: [...scope] } } };
        const governed = govern(urls, options);
        try {
          const of = (index: number): string => (index === 0 ? tenant : (other ?? tenant));
          const text = selectors.map((selector, index) => {
            const shared = { tenant: of(index), by: [], shortWindow: "60s" };
            return writeLeaf(selector, shared).governed;
          });
          const stamps = { startMs: endMs, stepMs: undefined, count: 1 };
          const answer = await governed.post("/api/v1/query", parametersOf(text.join(" or "), stamps));
          const alone = await Promise.all(selectors.map((selector, index) => native(governed, selector, of(index))));
          const union = new Set(alone.flatMap((one) => one.regions));
          const isRefused =
            alone.some((one) => one.isRefused) ||
            (union.size > 1 && [...union].some((region) => !scope.includes(region))) ||
            new Set(selectors.map((_, index) => of(index))).size > 1;
          counts[isRefused ? "refused" : "answered"] += 1;
          const shown = { text, alone, body: answer.body.slice(0, 500) };
          expect({ ...shown, isRefused: answer.status !== 200 }).toEqual({ ...shown, isRefused });
          expect(answer.status).toBeLessThan(500);
        } finally {
          await governed.stop();
        }
      }),
      { seed, numRuns: runs },
    );
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(runs / 20);
  },
);
