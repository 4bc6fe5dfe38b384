import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dataStartMs } from "../runtime/metrics/oracle/generated-series.ts";
import type { PrometheusHandle } from "../support/prometheus.ts";
import { isSoak } from "../support/soak.ts";
import { parametersOf, pathOf, type Stamps } from "./oracle/answers.ts";
import { governedLabels, selectorsOf, randomTree, write } from "./oracle/expressions.ts";
import { fullSeries, regions } from "./oracle/full-series.ts";
import { govern, startHolding, type Governed, type GovernedAnswer } from "./oracle/governed.ts";
import { hostileRequests } from "./oracle/hostile.ts";

const seed = 20_261_125;
const runs = isSoak ? 3_000 : 150;
const soakMs = 600_000;
const hostileCount = isSoak ? 3_000 : 300;
const at: Stamps = { startMs: dataStartMs + 7_200_000, stepMs: undefined, count: 1 };
const over: Stamps = { startMs: dataStartMs + 6_000_000, stepMs: 90_000, count: 8 };
/** Of brand-a only. In the second pair of stores all data of brand-b differ. */
const caller = { tenants: ["brand-a"] };

let stores: readonly PrometheusHandle[] = [];
let pair: readonly Governed[] = [];
beforeAll(async () => {
  const variants = [fullSeries(), fullSeries((tenant) => (tenant === "brand-b" ? 7 : 1))];
  const held = variants.flatMap((series) =>
    regions.map((region) => startHolding(series.filter(({ labels }) => labels["region"] === region))),
  );
  stores = await Promise.all(held);
  pair = variants.map((_, variant) => {
    const url = (index: number): string => stores[variant * regions.length + index]?.url ?? "";
    return govern(Object.fromEntries(regions.map((region, index) => [region, url(index)])), { caller });
  });
});
afterAll(async () => {
  await Promise.all(pair.map((one) => one.stop()));
  await Promise.all(stores.map((store) => store.stop()));
});

/** Headers that no data decide: the time that has passed fills quotas again. */
const passing = /^(?:date|x-correlation-id|ratelimit|x-ratelimit-.*|server-timing)$/u;

/** Asks both; an answer is what a client can see of it. */
async function both(ask: (governed: Governed) => Promise<GovernedAnswer>): Promise<readonly object[]> {
  const answers = await Promise.all(pair.map((governed) => ask(governed)));
  return answers.map(({ status, headers, body }) => ({
    status,
    body,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !passing.test(name))),
  }));
}

describe("the data of another tenant", () => {
  test(`change no byte of an answer, over ${runs} random expressions`, { timeout: soakMs }, async () => {
    let answered = 0;
    const asked = fc.record({
      tree: randomTree.filter((tree) => selectorsOf(tree).length <= 10),
      by: fc.subarray([...governedLabels]),
      stamps: fc.constantFrom(at, over),
    });
    await fc.assert(
      fc.asyncProperty(asked, async ({ tree, by, stamps }) => {
        const { governed: text } = write(tree, { tenant: "brand-a", by, shortWindow: "60s" });
        const [first, second] = await both((one) => one.post(pathOf(stamps), parametersOf(text, stamps)));
        expect(second).toEqual(first);
        expect(first).toMatchObject({ status: 200 });
        answered += 1;
      }),
      { seed, numRuns: runs },
    );
    expect(answered).toBe(runs);
  });

  test(
    `show in none of ${hostileCount} hostile requests, which are never a fault of the server`,
    { timeout: soakMs },
    async () => {
      const trees = fc.sample(randomTree, { seed, numRuns: 100 });
      const valid = trees.map(
        (tree) => write(tree, { tenant: "brand-a", by: ["service"], shortWindow: "60s" }).governed,
      );
      const statuses = new Map<number, number>();
      for (const { target, form, headers } of hostileRequests(valid, hostileCount)) {
        form.set("time", String(at.startMs / 1_000));
        const [first, second] = await both((one) => one.post(`/api/v1/query?${target}`, form, headers));
        const { status = 0 } = first as { readonly status?: number };
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        expect({ target, form: form.toString().slice(0, 500), second }).toEqual({
          target,
          form: form.toString().slice(0, 500),
          second: first,
        });
        expect({ status, query: form.get("query")?.slice(0, 300) }).not.toMatchObject({
          status: expect.toSatisfy(isFault),
        });
      }
      expect([...statuses.keys()].every((status) => [200, 400, 413, 414, 422].includes(status))).toBe(true);
      expect(statuses.get(400)).toBeGreaterThan(hostileCount / 4);
    },
  );

  test("are looked up by nobody else", async () => {
    const paths = [
      "label/service/values",
      "label/tenant/values",
      "labels",
      "series?match[]=lag",
      "query_exemplars?query=lag",
    ];
    for (const path of paths) {
      const [first, second] = await both((one) => one.get(`/prometheus/api/v1/${path}`));
      expect(second).toEqual(first);
      expect(JSON.stringify(first)).not.toContain("brand-b");
    }
  });
});

function isFault(status: number): boolean {
  return status >= 500;
}
