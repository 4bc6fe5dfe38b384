import { describe, expect, test } from "vitest";
import { histogram, over, ratio, slo } from "../catalog-changes.ts";
import type { Changes } from "../valid-objects.ts";
import { compiled, first, resourceOf } from "./resources.ts";

const catalogWith = (changes: Changes) => {
  const { config, results } = compiled([resourceOf("MetricCatalog", changes)]);
  return { catalog: first(config.catalogs), metric: first(first(config.catalogs).metrics), result: first(results) };
};

const dayMs = 86_400_000;

describe("a compiled catalog", () => {
  test("holds its stores with the region as default residency", () => {
    const { catalog } = catalogWith({
      "stores[0].residency": "eea",
      "stores[0].environment": "prod",
      "stores[0].tenancy": "Platform",
      "stores[0].labelMap": { environment: "env" },
      "stores[0].prometheus.timeoutSeconds": 5,
    });
    expect(catalog.schemaVersion).toBe("2026-01");
    expect(catalog.stores).toEqual([
      {
        name: "eu",
        region: "eu",
        residency: "eea",
        environment: "prod",
        tenancy: "Platform",
        labelMap: { environment: "env" },
        settleSeconds: 300,
        prometheus: { url: "http://eu.example:9090", timeoutMs: 5_000, flavour: "Prometheus", headers: {} },
      },
      {
        name: "latam",
        region: "latam",
        residency: "latam",
        tenancy: "Labelled",
        labelMap: {},
        settleSeconds: 300,
        prometheus: { url: "http://latam.example:9090", timeoutMs: 1_000, flavour: "Prometheus", headers: {} },
      },
    ]);
  });

  test("names the owner of a metric, or that of its catalog", () => {
    const changes = {
      owner: "platform",
      contact: "#platform",
      runbookUrl: "https://runbooks.example/platform",
      domain: "platform",
      "metrics[0].owner": "hosts",
      "metrics[0].runbookUrl": "https://runbooks.example/hosts",
    };
    expect(catalogWith(changes).metric).toMatchObject({
      owner: "hosts",
      contact: "#platform",
      runbookUrl: "https://runbooks.example/hosts",
      domain: "platform",
    });
    expect(catalogWith({}).metric).not.toHaveProperty("owner");
  });

  test("holds a metric with its defaults", () => {
    expect(catalogWith({ "metrics[0].labels": ["service", "region"] }).metric).toEqual({
      id: "cpu_util",
      category: "infrastructure",
      unit: "ratio",
      description: "Share of the processors in use.",
      source: { kind: "gauge", name: "cpu_utilization_ratio", matchers: [] },
      intervalSeconds: { eu: 15, latam: 15 },
      minStepSeconds: 60,
      labels: ["region", "service"],
      aggregations: ["avg"],
      defaultAggregation: "avg",
      maxGroupBy: 4,
      sensitivity: "none",
      queryClass: "B",
      state: "Active",
      slos: [],
    });
  });

  test.each([
    ["four times the interval", {}, 60],
    [
      "four times the largest interval of its stores",
      { "metrics[0].source.storeIntervals": [{ store: "latam", intervalSeconds: 30 }] },
      120,
    ],
    ["at least 10 s (Operational Metrics API §8)", { "metrics[0].source.intervalSeconds": 1 }, 10],
    ["what the metric says", { "metrics[0].minStepSeconds": 15 }, 15],
  ])("has for a smallest step %s", (_what, changes, seconds) => {
    expect(catalogWith(changes).metric.minStepSeconds).toBe(seconds);
  });

  test("leaves a store without the metric out of its intervals", () => {
    expect(catalogWith({ "metrics[0].stores": ["latam"] }).metric.intervalSeconds).toEqual({ latam: 15 });
  });

  test("names the kind of each source", () => {
    const series = { name: "deposits_total", matchers: [{ label: "result", value: "success" }] };
    const compiledSeries = { name: "deposits_total", matchers: [{ label: "result", op: "Equal", value: "success" }] };
    const sourceOf = (source: object) =>
      catalogWith({ "metrics[0].source": { intervalSeconds: 15, ...source } }).metric.source;
    expect(sourceOf({ gauge: series })).toEqual({ kind: "gauge", ...compiledSeries });
    expect(sourceOf({ counter: { ...series, increase: "Anchored" } })).toEqual({
      kind: "counter",
      increase: "Anchored",
      ...compiledSeries,
    });
    expect(sourceOf({ ratio: { numerator: series, denominator: { name: "deposits_total" } } })).toEqual({
      kind: "ratio",
      increase: "Extrapolated",
      numerator: compiledSeries,
      denominator: { name: "deposits_total", matchers: [] },
    });
    expect(sourceOf({ histogram: series })).toEqual({
      kind: "histogram",
      type: "Classic",
      increase: "Extrapolated",
      ...compiledSeries,
    });
  });

  test("gives a deprecated metric 180 days until its sunset, or the longer time of its spec (Operational Metrics API §9)", () => {
    const deprecated = { "metrics[0].state": "Deprecated", "metrics[0].deprecatedAt": "2026-01-01T00:00:00Z" };
    const since = Date.UTC(2026, 0, 1);
    expect(catalogWith(deprecated).metric).toMatchObject({
      state: "Deprecated",
      deprecatedAtMs: since,
      sunsetAtMs: since + 180 * dayMs,
    });
    const later = { ...deprecated, "metrics[0].sunsetAt": "2027-01-01T00:00:00Z" };
    expect(catalogWith(later).metric.sunsetAtMs).toBe(Date.UTC(2027, 0, 1));
  });

  test("shows an SLO with its metric", () => {
    const slos = [
      { ...slo, name: "cpu-week", objective: 0.95 },
      { ...slo, name: "cpu-day" },
    ];
    expect(catalogWith({ ...ratio, slos }).metric.slos).toEqual([
      { name: "cpu-day", objective: 0.99 },
      { name: "cpu-week", objective: 0.95 },
    ]);
  });

  test("keeps SLOs that earlier versions cannot count apart from those that they can", () => {
    const gauge = catalogWith({ slos: [{ ...slo, over }] }).catalog;
    expect(gauge.slos).toEqual([]);
    expect(gauge.newerSlos).toMatchObject([{ name: slo.name, over }]);
    const counted = { ...histogram, slos: [{ ...slo, threshold: 100 }] };
    const native = { ...counted, "metrics[0].source.histogram.type": "Native" };
    const [classic, newer] = [counted, native].map((set) => catalogWith(set).catalog);
    expect([classic?.slos, classic?.newerSlos]).toMatchObject([[{ threshold: 100 }], undefined]);
    expect([newer?.slos, newer?.newerSlos]).toMatchObject([[], [{ threshold: 100 }]]);
  });

  test("compiles calendar windows for versions that count them, with the days of their burn rates", () => {
    const slos = (["Month", "Quarter"] as const).map((period) => ({
      ...slo,
      name: period.toLowerCase(),
      calendar: { period, timeZone: "Europe/Berlin" },
    }));
    const { catalog } = catalogWith({ ...ratio, slos: [...slos, { ...slo, name: "rolling" }] });
    expect(catalog.slos.map(({ name }) => name)).toEqual(["rolling"]);
    expect(catalog.newerSlos).toMatchObject([
      { name: "month", windowDays: 30, calendar: slos[0]?.calendar },
      { name: "quarter", windowDays: 90, calendar: slos[1]?.calendar },
    ]);
  });

  test("holds its SLOs by name with the burn rates of 30 days by default", () => {
    const strict = {
      ...slo,
      name: "a",
      title: "Quick answers",
      threshold: 300,
      counts: "Bad",
      windowDays: 7,
      minimumEvents: 1,
      burnRates: [5, 4, 3, 2],
    };
    const shown = { public: true, publicTenants: ["vega", "lumen"] };
    const { catalog } = catalogWith({
      ...histogram,
      slos: [
        { ...slo, threshold: 100 },
        { ...strict, ...shown },
      ],
    });
    expect(catalog.slos).toEqual([
      { ...strict, public: true, publicTenants: ["lumen", "vega"] },
      {
        ...slo,
        threshold: 100,
        counts: "Good",
        windowDays: 30,
        minimumEvents: 100,
        burnRates: [14.4, 6, 3, 1],
        public: false,
      },
    ]);
  });

  test("is accepted with a warning when a store settles before two intervals passed", () => {
    const { result } = catalogWith({ "stores[1].settleSeconds": 29 });
    expect(result.accepted.status).toBe(true);
    expect(result.warnings).toEqual(["the store latam settles after 29 s, before 2 intervals (30 s) passed"]);
  });

  test("is accepted with a warning when a store has a longer timeout than a whole query", () => {
    const { result } = catalogWith({ "stores[0].prometheus.timeoutSeconds": 2 });
    expect(result.accepted.status).toBe(true);
    expect(result.warnings).toEqual([
      "the store eu has 2 s to respond, but a query times out earlier, after metrics.deadlineMs of the settings " +
        "(default 1800 ms)",
    ]);
  });

  test("does not depend on the order of stores, labels, aggregations, matchers and members", () => {
    const matchers = [
      { label: "a", op: "Equal", value: "1" },
      { value: "2", label: "b", op: "NotEqual" },
    ];
    const gauge = { "metrics[0].aggregations": ["avg", "max"], "metrics[0].source.gauge": { name: "cpu", matchers } };
    const { catalog } = catalogWith(gauge);
    const reordered = catalogWith({
      ...gauge,
      "metrics[0].aggregations": ["max", "avg"],
      "metrics[0].source.gauge": { matchers: matchers.toReversed(), name: "cpu" },
      stores: [
        { name: "latam", region: "latam", prometheus: { url: "http://latam.example:9090" } },
        { region: "eu", name: "eu", prometheus: { url: "http://eu.example:9090" } },
      ],
    }).catalog;
    expect({ ...reordered, specDigest: "" }).toEqual({ ...catalog, specDigest: "" });
  });
});
