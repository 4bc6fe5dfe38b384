import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { differences, exactly } from "../runtime/metrics/oracle/differences.ts";
import { dataStartMs } from "../runtime/metrics/oracle/generated-series.ts";
import type { PrometheusHandle } from "../support/prometheus.ts";
import { isSoak } from "../support/soak.ts";
import {
  askStore,
  parametersOf,
  pathOf,
  pointsOf,
  smallestStepMs,
  type Answer,
  type Stamps,
} from "./oracle/answers.ts";
import { governedLabels, selectorsOf, randomTree, write } from "./oracle/expressions.ts";
import { fullSeries, regions, tenants } from "./oracle/full-series.ts";
import { govern, startHolding, type Governed } from "./oracle/governed.ts";

/** Fixed, so that a run can be repeated. */
const seed = 20_261_123;
const runs = isSoak ? 3_000 : 300;
const soakMs = 600_000;
const leavesMax = 10;

let stores: readonly PrometheusHandle[] = [];
let governed: Governed;
beforeAll(async () => {
  const series = fullSeries();
  const of = (region: string) => series.filter(({ labels }) => labels["region"] === region);
  stores = await Promise.all([...regions.map((region) => startHolding(of(region))), startHolding(series)]);
  governed = govern(Object.fromEntries(regions.map((region, index) => [region, stores[index]?.url ?? ""])));
});
afterAll(async () => {
  await governed?.stop();
  await Promise.all(stores.map((store) => store.stop()));
});

/**
 * Instants and ranges from an hour after the first sample on, on and beside the grid. Each step holds whole intervals
 * of the samples, since the short form of a gauge is as wide as the step and all series must fill it alike.
 */
const randomStamps: fc.Arbitrary<Stamps> = fc
  .record({
    startMs: fc.integer({ min: 3_600, max: 7_200 }).map((second) => dataStartMs + second * 1_000),
    stepMs: fc.option(fc.constantFrom(15_000, 60_000, 75_000, 120_000, 300_000), { nil: undefined }),
    count: fc.integer({ min: 1, max: 12 }),
  })
  .map((stamps) => (stamps.stepMs === undefined ? { ...stamps, count: 1 } : stamps));

test(
  `an expression has the values of one Prometheus that holds all regions' data, over ${runs} random expressions`,
  { timeout: soakMs },
  async () => {
    let points = 0;
    const asked = fc.record({
      tree: randomTree.filter((tree) => selectorsOf(tree).length <= leavesMax),
      by: fc.subarray([...governedLabels]),
      tenant: fc.constantFrom(...tenants),
      stamps: randomStamps,
    });
    await fc.assert(
      fc.asyncProperty(asked, async ({ tree, by, tenant, stamps }) => {
        const shortWindow = `${Math.max(smallestStepMs, stamps.stepMs ?? 0) / 1_000}s`;
        const { governed: text, store } = write(tree, { tenant, by, shortWindow });
        const answer = await governed.post(pathOf(stamps), parametersOf(text, stamps));
        expect({ text, status: answer.status, body: answer.status === 200 ? "" : answer.body }).toMatchObject({
          status: 200,
        });
        const actual = pointsOf(JSON.parse(answer.body) as Answer);
        const wanted = await askStore(stores.at(-1)?.url ?? "", store, stamps);
        points += actual.values().reduce((sum, own) => sum + own.size, 0);
        expect({ text, differ: differences(actual, exactly(wanted), { oracle: "store" }) }).toEqual({
          text,
          differ: [],
        });
      }),
      { seed, numRuns: runs },
    );
    expect(points).toBeGreaterThan(runs * 3);
  },
);
