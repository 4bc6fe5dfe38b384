import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LabelName, StoreConfig } from "../../../../crds/config.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { createMetricsApi } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import type { LookUp, MetricsApi } from "../../../../runtime/metrics/metrics-api.ts";
import { type PrometheusHandle, startPrometheus } from "../../../support/prometheus.ts";
import { type GeneratedSeries, openMetrics } from "../oracle/generated-series.ts";
import { configOf, everyone, metricConfig, storeConfig } from "../oracle/universe.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");
const minuteMs = 60_000;
const endMs = startMs + 60 * minuteMs;
const nowMs = endMs + minuteMs;

interface Held {
  readonly region: "eu" | "latam";
  readonly tenant: string;
  readonly environment: string;
  readonly service: string;
}

/** Every value of `service` names where it is, so that a value in the wrong place is seen. */
const held: readonly Held[] = ["eu", "latam"].flatMap((region) =>
  ["brand-a", "brand-b"].flatMap((tenant) =>
    ["prod", "staging"].flatMap((environment) =>
      ["one", 'two",tenant=~".*'].map((name) => ({
        region: region as Held["region"],
        tenant,
        environment,
        service: `${name} of ${region} ${tenant} ${environment}`,
      })),
    ),
  ),
);

function seriesOf(region: Held["region"]): readonly GeneratedSeries[] {
  return held
    .filter((one) => one.region === region)
    .flatMap(({ tenant, environment, service }) => {
      const samples = Array.from({ length: 240 }, (_, index) => ({ ms: startMs + (index + 1) * 15_000, value: index }));
      // Samples that ended long before the times of the look-ups.
      const before = samples.map(({ ms, value }) => ({ ms: ms - 36 * 3_600_000, value }));
      const labels = { tenant, env: environment, service };
      const gone = { ...labels, service: `gone ${service}` };
      return [
        { name: "lag", labels, samples, shard: 0 as const },
        { name: "paid_total", labels, samples, shard: 0 as const },
        { name: "lag", labels: gone, samples: before, shard: 0 as const },
      ];
    });
}

let servers: readonly PrometheusHandle[];
let api: MetricsApi;
beforeAll(async () => {
  servers = await Promise.all(
    (["eu", "latam"] as const).map((region) => startPrometheus({ openMetrics: openMetrics(seriesOf(region)) })),
  );
  const stores: readonly StoreConfig[] = ["eu", "latam"].map((region, index) =>
    storeConfig({ name: region, region, url: servers[index]?.url ?? "" }),
  );
  const paid = { kind: "counter", increase: "Extrapolated", name: "paid_total", matchers: [] } as const;
  const lag = { kind: "gauge", name: "lag", matchers: [] } as const;
  const { complianceScope: _, ...unscoped } = metricConfig("unscoped_lag", stores, { source: lag });
  const metrics = [
    metricConfig("lag", stores, { source: lag }),
    metricConfig("paid", stores, { source: paid, aggregations: ["sum"], defaultAggregation: "sum" }),
    unscoped,
  ];
  api = createMetricsApi({ config: configOf(stores, metrics), log: { warn: () => undefined }, deadlineMs: 20_000 });
});
afterAll(async () => {
  await api?.stop();
  await Promise.all((servers ?? []).map((server) => server.stop()));
});

type FilterValues = Readonly<Partial<Record<LabelName, readonly string[]>>>;

function lookUp(metric: string, filters: FilterValues = {}): LookUp {
  const listed = new Map(Object.entries(filters) as [LabelName, readonly string[]][]);
  return { selectors: [{ metric, filters: listed }], tenant: undefined, startMs, endMs: nowMs };
}

const brandA: Caller = { ...everyone, tenants: ["brand-a"] };
const run = (caller: Caller) => [caller, AbortSignal.timeout(30_000), { correlationId: "test", nowMs }] as const;

async function valuesOf(label: LabelName, asked: LookUp, caller: Caller): Promise<readonly string[] | string> {
  try {
    const { values, isPartial } = await api.labelValues({ ...asked, label }, ...run(caller));
    return isPartial ? "partial" : values;
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
}

const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)].sort();

describe("the values of a label", () => {
  test("are those of the series that rights and filters select, over 200 random callers", async () => {
    const some = <Name extends string>(...names: readonly Name[]) => fc.subarray([...names], { minLength: 1 });
    const looked = fc.record({
      metric: fc.constantFrom("lag", "paid"),
      label: fc.constantFrom("service" as const, "environment" as const, "region" as const),
      tenant: fc.constantFrom("brand-a", "brand-b"),
      regions: some("eu", "latam"),
      environments: some("prod", "staging", "*"),
      filters: fc.record({ region: some("eu", "latam"), environment: some("prod", "staging") }, { requiredKeys: [] }),
    });
    let shown = 0;
    await fc.assert(
      fc.asyncProperty(looked, async ({ metric, label, tenant, regions, environments, filters }) => {
        const caller = { ...everyone, tenants: [tenant], regions, environments };
        const values = await valuesOf(label, lookUp(metric, filters), caller);
        const allows = (names: readonly string[], name: string) => names.includes("*") || names.includes(name);
        const isAllowed =
          (filters.region ?? []).every((name) => allows(regions, name)) &&
          (filters.environment ?? []).every((name) => allows(environments, name));
        const visible = held.filter(
          (one) =>
            one.tenant === tenant &&
            allows(regions, one.region) &&
            allows(environments, one.environment) &&
            (filters.region ?? [one.region]).includes(one.region) &&
            (filters.environment ?? [one.environment]).includes(one.environment),
        );
        const wanted = distinct(visible.map((one) => one[label]));
        shown += isAllowed ? wanted.length : 0;
        const isRefused = values === "region_forbidden" || values === "environment_forbidden";
        expect(isRefused ? "refused" : values).toEqual(isAllowed ? wanted : "refused");
      }),
      { seed: 19, numRuns: 200 },
    );
    expect(shown).toBeGreaterThan(150);
  });

  test("are of the last hours only: a series that ended before has none", async () => {
    const values = await valuesOf("service", lookUp("lag"), brandA);
    expect(values).toHaveLength(8);
    expect(values).not.toContainEqual(expect.stringContaining("gone"));
  });

  test("are clamped where the times span years", async () => {
    const wide = { ...lookUp("lag"), startMs: startMs - 365 * 86_400_000, endMs: nowMs + 365 * 86_400_000 };
    expect(await valuesOf("service", wide, brandA)).toHaveLength(8);
  });

  test("are narrowed by filters of other labels, also the regions", async () => {
    const service = ["one of latam brand-a prod"];
    expect(await valuesOf("region", lookUp("lag", { service }), brandA)).toEqual(["latam"]);
    expect(await valuesOf("environment", lookUp("lag", { service }), brandA)).toEqual(["prod"]);
  });

  test("are those of every metric that is selected", async () => {
    const both = { ...lookUp("lag"), selectors: [...lookUp("lag").selectors, ...lookUp("paid").selectors] };
    expect(await valuesOf("service", both, brandA)).toHaveLength(8);
  });
});

describe("a metric that may not be read over several regions", () => {
  test("has its regions, since they are no data", async () => {
    expect(await valuesOf("region", lookUp("unscoped_lag"), brandA)).toEqual(["eu", "latam"]);
    expect(await valuesOf("region", lookUp("unscoped_lag"), { ...brandA, regions: ["latam"] })).toEqual(["latam"]);
  });

  test("is refused for other labels, until a region is named", async () => {
    expect(await valuesOf("service", lookUp("unscoped_lag"), brandA)).toBe("region_forbidden");
    expect(await valuesOf("service", lookUp("unscoped_lag", { region: ["eu"] }), brandA)).toHaveLength(4);
  });
});

test("the labels of series are those of one tenant, with its name", async () => {
  const { series, isNarrowed } = await api.seriesLabels(lookUp("lag", { environment: ["prod"] }), ...run(brandA));
  const visible = held.filter(({ tenant, environment }) => tenant === "brand-a" && environment === "prod");
  const wanted = visible.map((labels) => ({ metric: "lag", labels }));
  expect(series).toHaveLength(wanted.length);
  expect(series).toEqual(expect.arrayContaining(wanted));
  expect(isNarrowed).toBe(false);
});
