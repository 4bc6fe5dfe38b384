import { describe, expect, test } from "vitest";
import type { MetricConfig, SloConfig, StoreConfig } from "../../../../crds/config.ts";
import {
  type CheckName,
  decideChecks,
  metricCheck,
  observedOf,
  type CheckResult,
  storeResult,
} from "../../../../runtime/metrics/observed/decide-checks.ts";
import type { FactStep, MetricFacts } from "../../../../runtime/metrics/observed/metric-facts.ts";
import type { MetricInStore } from "../../../../runtime/metrics/observed/metric-in-store.ts";
import { metricConfig, storeConfig } from "../oracle/universe.ts";

const store = storeConfig({ name: "eu", region: "eu", url: "http://127.0.0.1:9" });
const gauge = { kind: "gauge", name: "lag", matchers: [] } as const;
const counter = { kind: "counter", increase: "Extrapolated", name: "paid_total", matchers: [] } as const;
const classic = { kind: "histogram", type: "Classic", increase: "Extrapolated", name: "took", matchers: [] } as const;

function pairOf(
  source: MetricConfig["source"],
  slos: readonly Partial<SloConfig>[] = [],
  own: StoreConfig = store,
  aggregations: MetricConfig["aggregations"] = ["avg"],
): MetricInStore {
  const metric = metricConfig("m", [own], { source, labels: ["region", "service"], aggregations });
  return { entry: { metric, slos: slos as readonly SloConfig[] }, store: { config: own, intervalSeconds: 15 } };
}

const labels = (names: readonly string[], part = "series") =>
  new Map(names.map((name) => [`label ${name} ${part}`, 5]));
const good: MetricFacts = {
  samples: new Map([
    ["series series", 5],
    ["samples series", 20],
  ]),
  type: new Map([["lag", ["gauge"]]]),
  labels: ["__name__", "tenant", "service"],
  values: { counts: labels(["tenant", "service"]), suspects: new Map() },
};
const pair = pairOf(gauge);

function decide(facts: MetricFacts, of = pair, faults: readonly (readonly [FactStep, number])[] = []) {
  const results = decideChecks(of, { facts, faults: new Map(faults.map(([step, count]) => [step, { count }])) });
  return Object.fromEntries(results.map(({ check, status, message }) => [check, `${status} ${message}`.trim()]));
}
const all = (status: string): Readonly<Record<CheckName, string>> => ({
  forbidden: status,
  series: status,
  kind: status,
  labels: status,
  interval: status,
  bounds: status,
  values: status,
});

describe("a metric in a store", () => {
  test("is as declared", () => {
    expect(decide(good)).toEqual(all("True"));
  });

  test.each<[string, Partial<MetricFacts>, MetricInStore, CheckName, string]>([
    ["has no series", { samples: new Map() }, pair, "series", "no series lag with these matchers"],
    [
      "has no buckets",
      { samples: new Map([["series _count", 1]]) },
      pairOf(classic, [], store, ["p95"]),
      "series",
      "no series took_bucket with these matchers",
    ],
    [
      "is a counter by its metadata",
      { type: new Map([["lag", ["counter"]]]) },
      pair,
      "kind",
      "the store has a counter, but the source is a gauge",
    ],
    [
      "is a gauge by its metadata",
      { type: new Map([["paid_total", ["gauge", "unknown"]]]) },
      pairOf(counter),
      "kind",
      "the store has a gauge, but the source is a counter",
    ],
    [
      "is a counter by its name",
      { type: new Map([["paid_total", ["unknown"]]]) },
      pairOf({ ...gauge, name: "paid_total" }),
      "kind",
      "paid_total is the name of a counter",
    ],
    [
      "falls too often",
      { type: new Map(), samples: new Map([...(good.samples ?? []), ["resets series", 9]]) },
      pairOf({ ...counter, name: "job:paid" }),
      "kind",
      "the values fall too often for a counter",
    ],
    [
      "has floats in place of native histograms",
      {},
      pairOf({ ...classic, type: "Native" }, [], store, ["p95"]),
      "kind",
      "the samples are no native histograms",
    ],
    [
      "has samples half as often",
      { samples: new Map([...(good.samples ?? []), ["samples series", 10]]) },
      pair,
      "interval",
      "samples come about every 30 s, but intervalSeconds is 15",
    ],
    [
      "lacks a label of the catalog",
      { values: { counts: labels(["tenant"]), suspects: new Map() } },
      pair,
      "labels",
      "no series has the label service",
    ],
    [
      "lacks a label under the name of the store",
      { values: { counts: labels(["service"]), suspects: new Map() } },
      pairOf(gauge, [], { ...store, labelMap: { tenant: "brand" } }),
      "labels",
      "no series has the label tenant (brand)",
    ],
    [
      "has a forbidden label",
      {
        values: {
          counts: new Map([...labels(["tenant", "service"]), ["forbidden userId series", 1]]),
          suspects: new Map(),
        },
      },
      pair,
      "forbidden",
      "the series have the forbidden label userId",
    ],
    [
      "has numbers of cards",
      { values: { counts: labels(["tenant", "service"]), suspects: new Map([["service", ["4111 1111 1111 1111"]]]) } },
      pair,
      "values",
      "the label service has values that look like numbers of cards or documents",
    ],
    [
      "lacks the bucket of an objective",
      { samples: new Map([["bound fast", 0.5]]) },
      pairOf(classic, [{ name: "fast", threshold: 0.3 }], store, ["p95"]),
      "bounds",
      "not all series have the bucket 0.3 of the objective fast",
    ],
  ])("%s", (_name, change, of, check, message) => {
    expect(decide({ ...good, ...change }, of)[check]).toBe(`False ${message}`);
  });

  test.each<[string, Partial<MetricFacts>, MetricInStore, CheckName]>([
    [
      "the sum and the count of a histogram",
      { type: new Map([["took_sum", []]]) },
      pairOf({ ...counter, name: "took_sum" }),
      "kind",
    ],
    [
      "a counter of a histogram",
      { type: new Map([["took_count", ["histogram"]]]) },
      pairOf({ ...counter, name: "took_count" }),
      "kind",
    ],
    ["a gauge named as a count", { type: new Map() }, pairOf({ ...gauge, name: "node_count" }), "kind"],
    ["denser samples", { samples: new Map([...(good.samples ?? []), ["samples series", 80]]) }, pair, "interval"],
    ["young series only", { samples: new Map([["series series", 5]]) }, pair, "interval"],
    ["a forbidden label of dead series", { labels: ["userId"] }, pair, "forbidden"],
    [
      "a long version",
      { values: { counts: labels(["tenant", "service"]), suspects: new Map([["service", ["build-2026010112"]]]) } },
      pair,
      "values",
    ],
    [
      "a region and an environment of the store",
      { values: { counts: labels(["service"]), suspects: new Map() } },
      pairOf(gauge, [], { ...store, tenancy: "Platform", environment: "prod" }),
      "labels",
    ],
  ])("may have %s", (_name, change, of, check) => {
    expect(decide({ ...good, ...change }, of)[check]).toBe("True");
  });

  test("is unknown while its store does not respond, whatever was found before", () => {
    const down = [
      ["samples", 2],
      ["type", 2],
      ["labels", 2],
      ["values", 2],
    ] as const;
    expect(decide(good, pair, down)).toEqual(all("Unknown the store does not respond"));
    expect(decide({}, pair, down)).toEqual(all("Unknown the store does not respond"));
    const bad = {
      ...good,
      samples: new Map(),
      values: { counts: new Map([["forbidden userId series", 1]]), suspects: new Map() },
    };
    const once = [
      ["samples", 1],
      ["values", 1],
    ] as const;
    expect(Object.values(decide(bad, pair, once)).filter((text) => text.startsWith("False"))).toEqual([]);
    expect(decide(good, pair, once)).toEqual(all("True"));
    expect(decide({})).toEqual(all("Unknown not read yet"));
  });
});

const result = (check: CheckName, status: CheckResult["status"], message = ""): CheckResult => ({
  check,
  status,
  message,
});
const catalog = { namespace: "shop", name: "ops", uid: "u", generation: 3, specDigest: "d" };

describe("the checks of a catalog", () => {
  const fine = storeResult("eu", [result("series", "True")]);
  const down = storeResult("latam", [result("series", "Unknown", "the store does not respond")]);
  const odd = storeResult("apac", [
    result("forbidden", "False", "the series have the forbidden label userId"),
    result("kind", "Unknown", "not read yet"),
  ]);

  test("take the worst store of a metric", () => {
    expect(metricCheck("m", [fine])).toEqual({ metric: "m", status: "True", message: "" });
    expect(metricCheck("m", [fine, down])).toEqual({
      metric: "m",
      status: "Unknown",
      message: "latam: the store does not respond",
    });
    expect(metricCheck("m", [fine, down, odd])).toEqual({
      metric: "m",
      status: "False",
      check: "forbidden",
      message: "apac: the series have the forbidden label userId",
    });
    expect(metricCheck("m", [])).toMatchObject({ status: "NotChecked" });
  });

  test.each<[string, readonly (typeof fine)[][], string, string]>([
    ["all metrics match", [[fine], [fine]], "True", "MatchesStores"],
    ["some have no store that is compared", [[fine], []], "True", "MatchesStores"],
    ["none is compared", [[], []], "Unknown", "NotChecked"],
    ["a store is down", [[fine], [down]], "Unknown", "StoreUnavailable"],
    ["a store is down and another has a forbidden label", [[down], [odd]], "False", "ForbiddenLabel"],
    ["a metric differs", [[storeResult("eu", [result("kind", "False", "x")])]], "False", "Mismatch"],
  ])("are a condition: %s", (_name, metrics, status, reason) => {
    const checks = metrics.map((stores, index) => metricCheck(`m${index}`, stores));
    expect(observedOf(catalog, checks)).toMatchObject({ status, reason, generation: 3, uid: "u" });
  });

  test("name the forbidden label first, and list what is not True", () => {
    const checks = [
      metricCheck("a", [storeResult("eu", [result("kind", "False", "x")])]),
      metricCheck("b", [odd]),
      metricCheck("c", [fine]),
    ];
    const { message, metrics } = observedOf(catalog, checks);
    expect(message).toBe("b: apac: the series have the forbidden label userId. 1 more of 3 metrics are alike.");
    expect(metrics.map(({ metric }) => metric)).toEqual(["a", "b"]);
  });
});
