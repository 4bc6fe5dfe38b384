import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LabelName } from "../../../../crds/config.ts";
import { createCardinality } from "../../../../runtime/metrics/admission/cost.ts";
import { indexCatalogs } from "../../../../runtime/metrics/catalog-index.ts";
import { requireLabels } from "../../../../runtime/metrics/planning/catalog-entry.ts";
import { makePlan } from "../../../../runtime/metrics/planning/plan.ts";
import { makeQuery, type Query } from "../../../../runtime/metrics/planning/query.ts";
import { metricIdentityOf } from "../../../../runtime/metrics/reads/finish-metric.ts";
import { type Filters, filterValues } from "../../../../runtime/metrics/request/parameters.ts";
import { identityOf } from "../../../../runtime/metrics/response/snapshots.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig, wideLimits } from "../oracle/universe.ts";
import { refused } from "../refused.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const stores = [storeConfig({ name: "eu", region: "eu", url: "http://127.0.0.1:9" })];
const source = { kind: "gauge", name: "lag", matchers: [] } as const;
const metrics = [metricConfig("lag", stores, { source, labels: ["service", "psp"] })];
const queryContext = {
  catalog: indexCatalogs(configOf(stores, metrics).catalogs),
  quotas: { quotas: [], classDefaults: { A: wideLimits, B: wideLimits, C: wideLimits } },
};
const caller = { ...everyone, tenants: ["brand-a"] };
const pairs = [
  ["metric", "lag"],
  ["group_by", "service"],
] as const;
const plain = makeQuery(parameters(pairs), caller, queryContext, nowMs);
const by = (filters: Filters): Query => ({ ...plain, filters });
const filter = (label: LabelName, ...values: readonly string[]): Filters => new Map([[label, values]]);

function requireFilters(filters: Filters): void {
  requireLabels({ groupBy: [], filters }, metrics, 4);
}

describe("the values of a filter", () => {
  test("are sorted and distinct", () => {
    expect(filterValues(["b", "a", "b"], "filter[psp]")).toEqual(["a", "b"]);
  });

  const rows: readonly (readonly [sentence: string, work: () => unknown])[] = [
    ["none is no filter", () => filterValues([], "filter[psp]")],
    ["one is empty", () => filterValues(["a", ""], "filter[psp]")],
    ["one is a card number", () => filterValues(["a", "4111111111111111"], "filter[psp]")],
    [
      "more than 50",
      () =>
        filterValues(
          Array.from({ length: 51 }, (_, index) => `p${index}`),
          "filter[psp]",
        ),
    ],
  ];
  test.each(rows)("are refused: %s", (_sentence, work) => {
    expect(refused(work)).toBe("invalid_filter filter[psp]");
  });

  test("are bounded over all filters", () => {
    const values = Array.from({ length: 40 }, (_, index) => `${index}`.padEnd(200, "x"));
    expect(() => requireFilters(filter("psp", ...values))).not.toThrow();
    expect(refused(() => requireFilters(new Map([...filter("psp", ...values), ["service", ["a"]]])))).toBe(
      "invalid_filter filter",
    );
  });
});

describe("filters of several values", () => {
  const values = fc.uniqueArray(fc.constantFrom("a", "b", "a,b", '"a","b"', "[", "a|b"), {
    minLength: 1,
    maxLength: 3,
  });
  const filters = fc
    .record({ psp: values, service: values }, { requiredKeys: [] })
    .map((own): Filters => new Map(Object.entries(own).map(([label, some]) => [label as LabelName, some.toSorted()])));

  test("share an identity only with equal filters", () => {
    fc.assert(
      fc.property(filters, filters, (one, other) => {
        const areEqual = JSON.stringify([...one]) === JSON.stringify([...other]);
        const [metric] = plain.metrics;
        if (metric === undefined) throw new Error("the query has a metric");
        expect(identityOf(by(one)) === identityOf(by(other))).toBe(areEqual);
        expect(metricIdentityOf(by(one), metric, []) === metricIdentityOf(by(other), metric, [])).toBe(areEqual);
      }),
      { seed: 7, numRuns: 500 },
    );
  });

  test("have another expected number of series than one value", () => {
    const cardinality = createCardinality();
    const [one, two] = [by(filter("service", "a")), by(filter("service", "a", "b"))];
    const plan = makePlan(one, nowMs);
    const [part] = plan.parts;
    if (part === undefined) throw new Error("the plan has a part");
    const value = { ranges: [], histograms: [], part } as never;
    cardinality.record([{ part, outcome: { ok: true, value } } as never], one);
    expect(cardinality.expected(part, one)).toBe(1);
    expect(cardinality.expected(part, two)).toBeGreaterThan(1);
  });
});
