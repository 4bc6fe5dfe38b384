import { describe, expect, test } from "vitest";
import type { MetricConfig } from "../../../../crds/config.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import { indexCatalogs } from "../../../../runtime/metrics/catalog-index.ts";
import { catalogResponse } from "../../../../runtime/metrics/response/catalog-response.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig, wideLimits } from "../oracle/universe.ts";
import { refused } from "../refused.ts";

const stores = [storeConfig({ name: "eu", region: "eu", url: "http://127.0.0.1:9" })];
const sunsetMs = 1_782_777_600_000;
const gauge = { source: { kind: "gauge", name: "m", matchers: [] } } as const;
const metrics: readonly MetricConfig[] = [
  metricConfig("cpu_util", stores, gauge),
  metricConfig("auth_success_rate", stores, { ...gauge, category: "slo", slos: [{ name: "login", objective: 0.999 }] }),
  metricConfig("old_rate", stores, {
    ...gauge,
    state: "Deprecated",
    replacedBy: "auth_success_rate",
    deprecatedAtMs: 1_767_225_600_000,
    sunsetAtMs: sunsetMs,
  }),
  metricConfig("payouts", stores, {
    ...gauge,
    sensitivity: "finance",
    requiredRole: "finance-reader",
    owner: "payments",
    contact: "#payments",
    runbookUrl: "https://runbooks.example/payouts",
    domain: "payouts",
  }),
];
const queryContext = {
  catalog: indexCatalogs(configOf(stores, metrics).catalogs),
  quotas: { quotas: [], classDefaults: { A: wideLimits, B: wideLimits, C: wideLimits } },
};

interface CatalogBody {
  readonly data: readonly { readonly metric_id: string }[];
  readonly meta: object;
}

function ask(
  pairs: readonly (readonly [string, string])[] = [],
  caller: Partial<Caller> = {},
  nowMs = sunsetMs - 1,
): CatalogBody {
  const context = { correlationId: "id-1", nowMs };
  return catalogResponse(parameters(pairs), { ...everyone, ...caller }, queryContext, context).body as CatalogBody;
}

const ids = ({ data }: CatalogBody): readonly string[] => data.map(({ metric_id: id }) => id);

describe("the catalog (Operational Metrics API §2.5 and §4.4)", () => {
  test("has the members that a query of the metric needs", () => {
    const { data, meta } = ask([["metric", "auth_success_rate"]]);
    expect(data).toEqual([
      {
        metric_id: "auth_success_rate",
        category: "slo",
        unit: "1",
        description: "auth_success_rate",
        aggregations: ["avg", "sum", "min", "max"],
        default_aggregation: "avg",
        labels: ["region", "tenant", "environment", "service"],
        min_step: "1m",
        max_group_by: 4,
        semantics: {
          avg: expect.any(Object) as object,
          sum: expect.any(Object) as object,
          min: expect.any(Object) as object,
          max: expect.any(Object) as object,
        },
        slo: [{ name: "login", objective: 0.999 }],
        state: "Active",
        compliance_scope: { regions: ["eu"] },
        schema_version: "2026-01-01",
      },
    ]);
    expect(meta).toEqual({
      correlation_id: expect.stringMatching(/^[\w-]{22}$/u) as string,
      schema_version: "2026-01-01",
      total: 1,
    });
  });

  test("has the owner of a metric that names one", () => {
    expect(ask([["metric", "payouts"]], { roles: ["finance-reader"] }).data).toMatchObject([
      { owner: "payments", contact: "#payments", runbook_url: "https://runbooks.example/payouts", domain: "payouts" },
    ]);
  });

  test("has the sunset and the replacement of a deprecated metric", () => {
    expect(ask([["state", "Deprecated"]]).data).toMatchObject([
      {
        metric_id: "old_rate",
        replaced_by: "auth_success_rate",
        deprecated_at: "2026-01-01T00:00:00.000Z",
        sunset_at: "2026-06-30T00:00:00.000Z",
      },
    ]);
  });

  test("has no stores and no sources", () => {
    expect(JSON.stringify(ask().data)).not.toMatch(/127\.0\.0\.1|matchers|intervalSeconds/u);
  });

  test("is sorted and lists only metrics that the caller may read", () => {
    expect(ids(ask())).toEqual(["auth_success_rate", "cpu_util", "old_rate"]);
    expect(ids(ask([], { roles: ["finance-reader"] }))).toContain("payouts");
    expect(ids(ask([], { metrics: ["cpu_util", "payouts"] }))).toEqual(["cpu_util"]);
  });

  test("is narrowed by id and category", () => {
    expect(
      ids(
        ask([
          ["metric", "cpu_util"],
          ["metric", "nothing"],
        ]),
      ),
    ).toEqual(["cpu_util"]);
    expect(ids(ask([["category", "slo"]]))).toEqual(["auth_success_rate"]);
  });

  test("is narrowed to the metrics that have all of some labels", () => {
    expect(ids(ask([["label", "service"]]))).toEqual(["auth_success_rate", "cpu_util", "old_rate"]);
    expect(
      ids(
        ask([
          ["label", "service"],
          ["label", "psp"],
        ]),
      ),
    ).toEqual([]);
  });

  test("leaves a metric out from its sunset on", () => {
    expect(ids(ask([], {}, sunsetMs - 1))).toContain("old_rate");
    expect(ids(ask([], {}, sunsetMs))).not.toContain("old_rate");
  });

  test("is refused for a schema version that is not served (wire, 409)", () => {
    expect(ids(ask([["schema_version", "2026-01-01"]]))).toHaveLength(3);
    expect(refused(() => ask([["schema_version", "2025-01-01"]]))).toBe("schema_version_gone schema_version");
  });

  test("needs a tenant in the token, but no choice among several", () => {
    expect(refused(() => ask([], { tenants: [] }))).toBe("tenant_required filter[tenant]");
    expect(refused(() => ask([["filter[tenant]", "b"]], { tenants: ["a"] }))).toBe("tenant_forbidden filter[tenant]");
    expect(ids(ask([], { tenants: ["a", "b"] }))).toHaveLength(3);
  });

  test.each([
    ["an unknown parameter", [["agg", "avg"]], "unknown_parameter agg"],
    ["another filter", [["filter[psp]", "x"]], "unknown_parameter filter[psp]"],
    ["an unknown category", [["category", "x"]], "invalid_request category"],
    ["a forbidden label", [["label", "userId"]], "forbidden_label label"],
    ["an unknown label", [["label", "x"]], "invalid_request label"],
    ["an unknown state", [["state", "active"]], "invalid_request state"],
  ] as const)("is refused for %s", (_sentence, pairs, refusal) => {
    expect(refused(() => ask(pairs))).toBe(refusal);
  });

  test("is refused without a scope to read", () => {
    expect(refused(() => ask([], { scopes: [] }))).toBe("scope_missing");
  });
});
