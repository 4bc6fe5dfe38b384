import { describe, expect, test } from "vitest";
import type { MetricConfig, StoreConfig } from "../../../../crds/config.ts";
import { indexCatalogs } from "../../../../runtime/metrics/catalog-index.ts";
import { expectedCosts, totalCost } from "../../../../runtime/metrics/admission/cost.ts";
import { makePlan, type Plan } from "../../../../runtime/metrics/planning/plan.ts";
import { printExemplified, printVector } from "../../../../runtime/metrics/promql/promql.ts";
import { makeQuery } from "../../../../runtime/metrics/planning/query.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig, wideLimits } from "../oracle/universe.ts";

const noonMs = Date.parse("2026-01-01T12:00:00Z");
const at = { url: "http://127.0.0.1:9" };
const stores: readonly StoreConfig[] = [
  storeConfig({ name: "a", region: "eu", ...at }),
  storeConfig({ name: "b", region: "eu", ...at }, { environment: "prod", labelMap: { psp: "provider" } }),
  storeConfig({ name: "c", region: "latam", ...at }, { tenancy: "Platform" }),
];
const fixed = [{ label: "result", op: "NotMatches", value: "x.*" }] as const;
const metrics: readonly MetricConfig[] = [
  metricConfig("lag", stores, {
    source: { kind: "gauge", name: "lag", matchers: fixed },
    labels: ["region", "tenant", "environment", "psp"],
  }),
  metricConfig("ms", stores.slice(0, 1), {
    source: { kind: "histogram", type: "Classic", increase: "Extrapolated", name: "ms", matchers: [] },
    aggregations: ["p95"],
    defaultAggregation: "p95",
    complianceScope: { regions: ["eu", "latam"] },
  }),
];

/** A plan at noon, which is when its window ends. */
function plan(
  pairs: readonly (readonly [string, string])[],
  environments: readonly string[] = ["*"],
  nowMs = noonMs,
): Plan {
  const queryContext = {
    catalog: indexCatalogs(configOf(stores, metrics).catalogs),
    quotas: { quotas: [], classDefaults: { A: wideLimits, B: wideLimits, C: wideLimits } },
  };
  const window = [
    ["from", "2026-01-01T11:00:00Z"],
    ["to", "2026-01-01T12:00:00Z"],
    ["step", "1m"],
  ] as const;
  const caller = { ...everyone, tenants: ["brand-a"], environments };
  return makePlan(makeQuery(parameters([...window, ...pairs]), caller, queryContext, nowMs), nowMs);
}

const selectors = ({ parts }: Plan) =>
  parts.map(({ store: held, newest }) => [held.config.name, newest && printVector(newest, "LeftOpen")]);

describe("the request to each store contains", () => {
  test("the tenant, the filters and the fixed matchers, under its own label names", () => {
    expect(
      selectors(
        plan([
          ["metric", "lag"],
          ["filter[psp]", "acme"],
          ["filter[environment]", "prod"],
        ]),
      ),
    ).toEqual([
      ["a", 'max(timestamp({__name__="lag",result!~"x.*",env="prod",psp="acme",tenant="brand-a"}))'],
      ["b", 'max(timestamp({__name__="lag",result!~"x.*",provider="acme",tenant="brand-a"}))'],
      ["c", 'max(timestamp({__name__="lag",result!~"x.*",env="prod",psp="acme"}))'],
    ]);
  });

  test("every value of a filter, as text", () => {
    const one = plan([
      ["metric", "lag"],
      ["filter[psp]", "acme"],
    ]);
    const several = new Map([...one.query.filters, ["psp", ["a.b", "c|d"]] as const]);
    const made = makePlan({ ...one.query, filters: several }, noonMs);
    expect(selectors(made).map(([, text]) => text)).toEqual([
      'max(timestamp({__name__="lag",result!~"x.*",psp=~"a\\\\.b|c\\\\|d",tenant="brand-a"}))',
      'max(timestamp({__name__="lag",result!~"x.*",provider=~"a\\\\.b|c\\\\|d",tenant="brand-a"}))',
      'max(timestamp({__name__="lag",result!~"x.*",psp=~"a\\\\.b|c\\\\|d"}))',
    ]);
  });

  test("the environments of the token, where the store has no environment itself", () => {
    expect(selectors(plan([["metric", "lag"]], ["prod", "dev.1"]))).toEqual([
      ["a", 'max(timestamp({__name__="lag",result!~"x.*",env=~"dev\\\\.1|prod",tenant="brand-a"}))'],
      ["b", 'max(timestamp({__name__="lag",result!~"x.*",tenant="brand-a"}))'],
      ["c", 'max(timestamp({__name__="lag",result!~"x.*",env=~"dev\\\\.1|prod"}))'],
    ]);
  });

  test("nothing for a region that is filtered out", () => {
    expect(
      selectors(
        plan([
          ["metric", "lag"],
          ["filter[region]", "latam"],
        ]),
      ).map(([name]) => name),
    ).toEqual(["c"]);
  });

  test("the groups that the store has: the region is added to the response", () => {
    const { parts } = plan([
      ["metric", "lag"],
      ["group_by", "region,psp,environment"],
    ]);
    expect(
      parts.map(({ ranges }) =>
        ranges[0] === undefined ? "" : printVector(ranges[0], "LeftOpen").split("(sum_over")[0],
      ),
    ).toEqual(["sum by(env,psp)", "sum by(provider)", "sum by(env,psp)"]);
  });

  test("exemplars only when the query requests them, with the same filters", () => {
    const without = plan([
      ["metric", "ms"],
      ["filter[region]", "eu"],
    ]);
    const wanted = plan([
      ["metric", "ms"],
      ["filter[region]", "eu"],
      ["exemplars", "true"],
    ]);
    expect(without.parts.map(({ exemplars }) => exemplars)).toEqual([undefined]);
    expect(wanted.parts.map(({ exemplars }) => (exemplars === undefined ? "" : printExemplified(exemplars)))).toEqual([
      '{__name__="ms_bucket",tenant="brand-a"}',
    ]);
  });

  test("the newest sample of each part, which is settled once the end of the window cannot change", () => {
    const part = (secondsLater: number) => plan([["metric", "ms"]], ["*"], noonMs + secondsLater * 1_000).parts[0];
    const parts = [part(0), part(120), part(121)];
    expect(parts.map((own) => own?.newest.kind)).toEqual(["timestamp", "timestamp", "timestamp"]);
    expect(parts.map((own) => own?.isSettled)).toEqual([false, false, true]);
  });

  test("points of which the first covers the start of the window", () => {
    expect(plan([["metric", "lag"]]).grid).toEqual({
      startMs: Date.parse("2026-01-01T11:01:00Z"),
      stepMs: 60_000,
      count: 60,
    });
  });
});

const costEstimate = (of: ReturnType<typeof plan>): number => totalCost(expectedCosts(of));

describe("the cost estimate (Operational Metrics API §6)", () => {
  test.each([
    ["as wide as their step", 60, 60, 1],
    ["a little wider", 60, 61, 2],
    ["five times as wide", 60, 300, 5],
    ["narrower", 60, 30, 1],
  ])("is times the steps that a point covers: points %s", (_sentence, stepSeconds, widthSeconds, times) => {
    const { query } = plan([["metric", "lag"]]);
    const window = { ...query.window, fromMs: noonMs - 59 * 60_000 - widthSeconds * 1_000, stepSeconds, widthSeconds };
    expect(costEstimate(makePlan({ ...query, window }, noonMs))).toBe(3 * 2 * 60 * times);
  });

  test("is ranges times series times points", () => {
    expect(costEstimate(plan([["metric", "lag"]]))).toBe(3 * 2 * 60);
    expect(
      costEstimate(
        plan([
          ["metric", "lag"],
          ["agg", "max"],
        ]),
      ),
    ).toBe(3 * 60);
    expect(
      costEstimate(
        plan([
          ["metric", "lag"],
          ["agg", "max"],
          ["group_by", "psp"],
          ["limit", "10"],
        ]),
      ),
    ).toBe(3 * 10 * 60);
    expect(costEstimate(plan([["metric", "ms"]]))).toBe(12 * 60);
  });

  test("grows with every store, metric, group and point", () => {
    const one = costEstimate(
      plan([
        ["metric", "lag"],
        ["filter[region]", "eu"],
      ]),
    );
    expect(costEstimate(plan([["metric", "lag"]]))).toBeGreaterThan(one);
    expect(
      costEstimate(
        plan([
          ["metric", "lag"],
          ["metric", "ms"],
          ["filter[region]", "eu"],
        ]),
      ),
    ).toBeGreaterThan(one);
    expect(
      costEstimate(
        plan([
          ["metric", "lag"],
          ["filter[region]", "eu"],
          ["group_by", "psp"],
        ]),
      ),
    ).toBeGreaterThan(one);
  });
});
