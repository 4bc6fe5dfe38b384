import { describe, expect, test } from "vitest";
import type { ClientConfig, QuotaConfig, RuntimeConfig } from "../../../../crds/config.ts";
import { accessOf, classOf } from "../../../../runtime/metrics/authorization/access.ts";
import { everyone, metricConfig, wideLimits } from "../oracle/universe.ts";

const client = (changes: Partial<ClientConfig>): ClientConfig => ({
  tenants: [],
  regions: [],
  environments: [],
  metrics: [],
  ...changes,
});

function quota(queryClass: "A" | "B" | "C", maxSeries: number, clients: readonly ClientConfig[]): QuotaConfig {
  const origin = { uid: "", namespace: "n", name: `${queryClass}${maxSeries}`, generation: 1, specDigest: "" };
  return { ...origin, class: queryClass, limits: { ...wideLimits, maxSeries }, perMetric: [], clients };
}

const quotasOf = (...quotas: readonly QuotaConfig[]): Pick<RuntimeConfig, "quotas" | "classDefaults"> => ({
  quotas,
  classDefaults: {
    A: { ...wideLimits, maxSeries: 1 },
    B: { ...wideLimits, maxSeries: 2 },
    C: { ...wideLimits, maxSeries: 3 },
  },
});

const metric = (queryClass: "A" | "B" | "C") =>
  metricConfig("m", [], { source: { kind: "gauge", name: "m", matchers: [] }, queryClass });

describe("the class of a request (wire, Metrics)", () => {
  const caller = { ...everyone, client: "dash", scopes: ["metrics:read", "team"] };
  const rows = [
    ["is the slowest of its metrics", quotasOf(), ["A", "C", "B"], "C 3"],
    ["is the metric's, with the limits of a quota for everyone", quotasOf(quota("B", 20, [])), ["B"], "B 20"],
    ["ignores a quota for everyone of another class", quotasOf(quota("B", 20, [])), ["A"], "A 1"],
    [
      "is the client's, whatever the metrics are",
      quotasOf(quota("A", 10, [client({ clientId: "dash" })])),
      ["C"],
      "A 10",
    ],
    ["is the scope's where the client has none", quotasOf(quota("B", 10, [client({ scope: "team" })])), ["C"], "B 10"],
    [
      "is the client's before the scope's",
      quotasOf(quota("C", 10, [client({ scope: "team" })]), quota("A", 11, [client({ clientId: "dash" })])),
      ["C"],
      "A 11",
    ],
    [
      "is the slowest of several scopes",
      quotasOf(quota("A", 10, [client({ scope: "team" })]), quota("C", 11, [client({ scope: "metrics:read" })])),
      ["A"],
      "C 11",
    ],
    ["ignores other clients", quotasOf(quota("C", 10, [client({ clientId: "other" })])), ["A"], "A 1"],
  ] as const;
  test.each(rows)("%s", (_sentence, quotas, classes, expected) => {
    const { queryClass, limits } = classOf(caller, classes.map(metric), quotas);
    expect(`${queryClass} ${limits.maxSeries}`).toBe(expected);
  });
});

describe("access", () => {
  test("is that of the token where no quota names the client", () => {
    const caller = { ...everyone, tenants: ["a", "b"], regions: [], metrics: ["*"] };
    expect(accessOf(caller, quotasOf())).toEqual({
      tenants: new Set(["a", "b"]),
      regions: new Set(),
      environments: "every",
      metrics: "every",
    });
  });

  test("is the intersection of the token and the narrowing, where both name something", () => {
    const narrowing = client({ clientId: "test", tenants: ["b", "c"], regions: ["eu"], metrics: ["*"] });
    const caller = { ...everyone, tenants: ["a", "b"], metrics: ["m"] };
    expect(accessOf(caller, quotasOf(quota("A", 1, [narrowing])))).toEqual({
      tenants: new Set(["b"]),
      regions: new Set(["eu"]),
      environments: "every",
      metrics: new Set(["m"]),
    });
  });

  test("is narrowed by every scope that applies", () => {
    const narrowings = [client({ scope: "x", tenants: ["a", "b"] }), client({ scope: "y", tenants: ["b", "c"] })];
    const caller = { ...everyone, scopes: ["metrics:read", "x", "y"] };
    expect(accessOf(caller, quotasOf(quota("A", 1, narrowings))).tenants).toEqual(new Set(["b"]));
  });
});
