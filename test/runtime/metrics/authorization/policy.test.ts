import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ClientConfig, LabelName, MetricConfig, StoreConfig } from "../../../../crds/config.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { accessOf, type Caller } from "../../../../runtime/metrics/authorization/access.ts";
import {
  type Grant,
  grant,
  requireMatches,
  requireReadScope,
  unmatchedNames,
} from "../../../../runtime/metrics/authorization/policy.ts";
import { indexCatalogs, type MetricEntry } from "../../../../runtime/metrics/catalog-index.ts";
import type { Filters } from "../../../../runtime/metrics/request/parameters.ts";
import { configOf, everyone, metricConfig, storeConfig, wideLimits } from "../oracle/universe.ts";
import { refusalOf, refused } from "../refused.ts";

const url = "http://127.0.0.1:9";
const stores: readonly StoreConfig[] = [
  storeConfig({ name: "eu", region: "eu", url }),
  storeConfig({ name: "eu-prod", region: "eu", url }, { environment: "prod" }),
  storeConfig({ name: "latam", region: "latam", url }),
  storeConfig({ name: "apac", region: "apac", url }, { environment: "staging" }),
];
const source = { kind: "gauge", name: "m", matchers: [] } as const;

/** A metric in the named stores; without `scope`, one that may be read in one region only. */
function metricIn(
  id: string,
  names: readonly string[],
  changes: Partial<MetricConfig> & { scope?: readonly string[] } = {},
) {
  const { scope, ...others } = changes;
  const { complianceScope: _, ...config } = metricConfig(
    id,
    stores.filter(({ name }) => names.includes(name)),
    { source, ...others },
  );
  return scope === undefined ? config : { ...config, complianceScope: { regions: scope } };
}

const finance = { sensitivity: "finance", requiredRole: "finance-reader" } as const;
const metrics: readonly MetricConfig[] = [
  metricIn("one_region", ["eu", "eu-prod"]),
  metricIn("other_region", ["latam"]),
  metricIn("scoped", ["eu", "latam"], { scope: ["eu", "latam"] }),
  metricIn("unscoped", ["eu", "latam"]),
  metricIn("half_scoped", ["eu", "latam", "apac"], { scope: ["eu", "latam"] }),
  metricIn("prod_only", ["eu-prod"]),
  metricIn("staging_only", ["apac"]),
  metricIn("payouts", ["eu"], finance),
];
const catalog = indexCatalogs(configOf(stores, metrics).catalogs);
const entry = (id: string): MetricEntry => {
  const found = catalog.get(id);
  if (found === undefined) throw new Error(id);
  return found;
};

const quotas = { quotas: [], classDefaults: { A: wideLimits, B: wideLimits, C: wideLimits } };

interface Ask {
  readonly ids?: readonly string[];
  readonly filters?: Readonly<Partial<Record<LabelName, string | readonly string[]>>>;
  readonly caller?: Partial<Caller>;
}

/** Filters as a query has them: lists of values. */
function filtersOf(filters: Required<Ask>["filters"]): Filters {
  const listed = Object.entries(filters) as [LabelName, string | readonly string[]][];
  return new Map(listed.map(([label, values]) => [label, typeof values === "string" ? [values] : values]));
}

function ask({ ids = ["one_region"], filters = {}, caller = {} }: Ask): Grant {
  const full = { ...everyone, tenants: ["brand-a"], ...caller };
  const asked = filtersOf(filters);
  requireReadScope(full);
  return grant(ids.map(entry), asked, full, accessOf(full, quotas));
}

describe("a request is refused (Operational Metrics API §5)", () => {
  const rows: readonly (readonly [sentence: string, ask: Ask, refusal: string])[] = [
    ["without a scope to read", { caller: { scopes: ["events:write"] } }, "scope_missing"],
    ["for a metric that the token does not name", { caller: { metrics: ["scoped"] } }, "metric_forbidden metric"],
    ["for a metric when the token names none", { caller: { metrics: [] } }, "metric_forbidden metric"],
    [
      "for one forbidden metric among others",
      { ids: ["scoped", "one_region"], caller: { metrics: ["scoped"] } },
      "metric_forbidden metric",
    ],
    ["for a sensitive metric without its role", { ids: ["payouts"] }, "role_missing metric"],
    [
      "for a sensitive metric with another role",
      { ids: ["payouts"], caller: { roles: ["rg-reader", "*"] } },
      "role_missing metric",
    ],
    ["without any tenant", { caller: { tenants: [] } }, "tenant_required filter[tenant]"],
    ["with several tenants to choose from", { caller: { tenants: ["a", "b"] } }, "tenant_required filter[tenant]"],
    ["with every tenant to choose from", { caller: { tenants: ["*"] } }, "tenant_required filter[tenant]"],
    ["for a tenant that is not in the token", { filters: { tenant: "brand-b" } }, "tenant_forbidden filter[tenant]"],
    [
      "for a tenant when the token has none",
      { filters: { tenant: "a" }, caller: { tenants: [] } },
      "tenant_forbidden filter[tenant]",
    ],
    [
      "for a region that is not in the token",
      { filters: { region: "eu" }, caller: { regions: ["latam"] } },
      "region_forbidden filter[region]",
    ],
    [
      "when no region of the metric is in the token",
      { caller: { regions: ["latam"] } },
      "region_forbidden filter[region]",
    ],
    ["when the token has no region", { caller: { regions: [] } }, "region_forbidden filter[region]"],
    ["for a region that does not hold the metric", { filters: { region: "latam" } }, "invalid_filter filter[region]"],
    ["over regions without a compliance scope", { ids: ["unscoped"] }, "region_forbidden filter[region]"],
    ["over more regions than the compliance scope lists", { ids: ["half_scoped"] }, "region_forbidden filter[region]"],
    [
      "for two metrics of one region each that are not the same",
      { ids: ["one_region", "other_region"] },
      "region_forbidden filter[region]",
    ],
    [
      "for a metric of one region beside one of several",
      { ids: ["one_region", "scoped"] },
      "region_forbidden filter[region]",
    ],
    [
      "for an environment that is not in the token",
      { filters: { environment: "prod" }, caller: { environments: ["dev"] } },
      "environment_forbidden filter[environment]",
    ],
    [
      "when the token has no environment",
      { caller: { environments: [] } },
      "environment_forbidden filter[environment]",
    ],
    [
      "when no environment of the metric is in the token",
      { ids: ["prod_only"], caller: { environments: ["dev"] } },
      "environment_forbidden filter[environment]",
    ],
    [
      "for an environment that does not hold the metric",
      { ids: ["prod_only"], filters: { environment: "dev" } },
      "invalid_filter filter[environment]",
    ],
    [
      "for two tenants, of which each is allowed",
      { filters: { tenant: ["a", "b"] }, caller: { tenants: ["*"] } },
      "invalid_filter filter[tenant]",
    ],
    [
      "for two regions, of which one is not in the token",
      { ids: ["scoped"], filters: { region: ["eu", "latam"] }, caller: { regions: ["eu"] } },
      "region_forbidden filter[region]",
    ],
    [
      "for two regions without a compliance scope over both",
      { ids: ["unscoped"], filters: { region: ["eu", "latam"] } },
      "region_forbidden filter[region]",
    ],
    [
      "for two environments, of which one is not in the token",
      { filters: { environment: ["dev", "prod"] }, caller: { environments: ["dev"] } },
      "environment_forbidden filter[environment]",
    ],
    [
      "for regions that do not hold the metric",
      { filters: { region: ["apac", "latam"] } },
      "invalid_filter filter[region]",
    ],
  ];
  test.each(rows)("%s", (_sentence, asked, refusal) => {
    expect(refused(() => ask(asked))).toBe(refusal);
  });

  test("with the first name that is not allowed", () => {
    const asked = { filters: { environment: ["dev", "prod", "staging"] }, caller: { environments: ["dev"] } };
    expect(refusalOf(() => ask(asked)).message).toContain("not allowed to read the environment prod");
  });
});

describe("names that no store of a request has", () => {
  const rows: readonly (readonly [sentence: string, ask: Ask, names: readonly string[]])[] = [
    ["a region among others", { filters: { region: ["eu", "mars"] } }, ["region mars"]],
    ["a region of another metric", { filters: { region: ["eu", "latam"] } }, ["region latam"]],
    ["none of two metrics", { ids: ["scoped", "one_region"], filters: { region: "eu" } }, []],
    ["none of a store without a fixed environment", { filters: { environment: ["dev", "prod"] } }, []],
    [
      "an environment among others",
      { ids: ["prod_only"], filters: { environment: ["dev", "prod"] } },
      ["environment dev"],
    ],
  ];
  test.each(rows)("%s", (_sentence, asked, names) => {
    const filters = filtersOf(asked.filters ?? {});
    const { metrics: granted } = ask(asked);
    expect(unmatchedNames(granted, filters).map(({ label, value }) => `${label} ${value}`)).toEqual(names);
  });

  test("are refused", () => {
    const { metrics: granted } = ask({ filters: { region: ["eu", "mars"] } });
    const check = (...regions: readonly string[]) => requireMatches(granted, filtersOf({ region: regions }));
    expect(refused(() => check("eu", "mars"))).toBe("invalid_filter filter[region]");
    expect(() => check("eu")).not.toThrow();
  });
});

describe("a request is granted", () => {
  const names = ({ metrics: granted }: Grant): readonly string[] =>
    granted.flatMap(({ stores: held }) => held.map(({ config: store }) => store.name));

  test("the one tenant of the token without a filter", () => {
    expect(ask({}).tenant).toBe("brand-a");
  });

  test("one of several tenants with a filter", () => {
    expect(ask({ filters: { tenant: "b" }, caller: { tenants: ["a", "b"] } }).tenant).toBe("b");
  });

  test("every region that the compliance scope lists", () => {
    expect(ask({ ids: ["scoped"] }).regions).toEqual(["eu", "latam"]);
  });

  test("one region of a metric that may not be read over several", () => {
    expect(names(ask({ ids: ["unscoped"], filters: { region: "latam" } }))).toEqual(["latam"]);
  });

  test("the regions of the token, without a filter", () => {
    expect(names(ask({ ids: ["unscoped"], caller: { regions: ["eu"] } }))).toEqual(["eu"]);
  });

  test("the regions that it names, where the compliance scope lists them all", () => {
    const granted = ask({ ids: ["half_scoped"], filters: { region: ["eu", "latam"] } });
    expect([names(granted), granted.regions]).toEqual([
      ["eu", "latam"],
      ["eu", "latam"],
    ]);
  });

  test("the environments that it names", () => {
    const granted = ask({ filters: { environment: ["dev", "prod"] } });
    expect([names(granted), granted.environments]).toEqual([["eu", "eu-prod"], new Set(["dev", "prod"])]);
  });

  test("only stores of its environments", () => {
    const granted = ask({ caller: { environments: ["staging"] } });
    expect([names(granted), granted.environments]).toEqual([["eu"], new Set(["staging"])]);
  });

  test("a sensitive metric with its role", () => {
    expect(names(ask({ ids: ["payouts"], caller: { roles: ["finance-reader"] } }))).toEqual(["eu"]);
  });

  test("what a public dashboard's scope reads", () => {
    expect(ask({ caller: { scopes: ["metrics:read.public"] } }).tenant).toBe("brand-a");
  });
});

describe("no combination widens access", () => {
  const tenantNames = ["a", "b", "c"] as const;
  const regionNames = ["eu", "latam", "apac"] as const;
  const environmentNames = ["prod", "staging", "dev"] as const;
  const ids = metrics.map(({ id }) => id);
  // Mostly open, so that most requests are granted and each limit is met alone as well as with others.
  const claim = (all: readonly string[]) =>
    fc.oneof(
      { weight: 2, arbitrary: fc.constant(["*"]) },
      { weight: 1, arbitrary: fc.subarray([...all], { minLength: 1 }) },
    );
  const narrowed = (all: readonly string[]) =>
    fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.subarray([...all]) });
  const callers = fc.record({
    client: fc.constantFrom("one", "two"),
    tenants: claim(tenantNames),
    regions: claim(regionNames),
    environments: claim(environmentNames),
    metrics: claim(ids),
    roles: fc.subarray(["finance-reader", "*"]),
    scopes: fc.constantFrom(["metrics:read"], ["metrics:read.public", "team"], ["team"]),
  });
  const narrowings: fc.Arbitrary<ClientConfig> = fc.record({
    clientId: fc.constantFrom("one", "two"),
    tenants: narrowed(tenantNames),
    regions: narrowed(regionNames),
    environments: narrowed(environmentNames),
    metrics: narrowed(ids),
  });
  const filters = fc.record(
    {
      tenant: fc.constantFrom(...tenantNames, "*"),
      region: fc.subarray([...regionNames], { minLength: 1, maxLength: 2 }),
      environment: fc.subarray([...environmentNames], { minLength: 1, maxLength: 2 }),
    },
    { requiredKeys: [] },
  );
  const someIds: fc.Arbitrary<readonly string[]> = fc.oneof(
    fc.constant(["scoped"]),
    fc.subarray(ids, { minLength: 1, maxLength: 2 }),
  );
  const asks = fc.record({ caller: callers, narrowing: narrowings, filters, ids: someIds });
  type Asked = typeof asks extends fc.Arbitrary<infer T> ? T : never;

  function tryGrant(
    { caller, filters: asked, ids: wanted }: Omit<Asked, "caller"> & { readonly caller: Caller },
    ...clients: readonly ClientConfig[]
  ): Grant | undefined {
    const origin = { uid: "", namespace: "n", name: "q", generation: 1, specDigest: "" };
    const own = { ...quotas, quotas: [{ ...origin, class: "A" as const, limits: wideLimits, perMetric: [], clients }] };
    try {
      requireReadScope(caller);
      return grant(wanted.map(entry), filtersOf(asked), caller, accessOf(caller, own));
    } catch (error) {
      if (error instanceof ApiError) return undefined;
      throw error;
    }
  }

  const within = (names: readonly string[], allowed: readonly string[]): boolean =>
    allowed.includes("*") || names.every((name) => allowed.includes(name));
  const storesOf = (granted: Grant): readonly StoreConfig[] =>
    granted.metrics.flatMap(({ stores: held }) => held.map(({ config: store }) => store));
  const environmentsOf = (granted: Grant): readonly string[] =>
    granted.environments === "every" ? environmentNames : [...granted.environments];

  /** Checks what is granted; a request that is refused widens nothing. */
  function checkGranted(check: (asked: Asked) => boolean): void {
    let granted = 0;
    fc.assert(
      fc.property(asks, (asked) => {
        if (check(asked)) granted += 1;
      }),
      { seed: 7, numRuns: 3_000 },
    );
    expect(granted).toBeGreaterThan(60);
  }

  test("of claims, narrowing and filters: the grant satisfies each of them", () => {
    checkGranted((asked) => {
      const granted = tryGrant(asked, asked.narrowing);
      if (granted === undefined) return false;
      const applies = asked.narrowing.clientId === asked.caller.client;
      const limits = [asked.caller, ...(applies ? [orEvery(asked.narrowing)] : []), filtersAsClaims(asked.filters)];
      for (const limit of limits) {
        expect(within([granted.tenant], limit.tenants)).toBe(true);
        expect(within(granted.regions, limit.regions)).toBe(true);
        expect(
          within(
            storesOf(granted).map(({ region }) => region),
            limit.regions,
          ),
        ).toBe(true);
        expect(within(environmentsOf(granted), limit.environments)).toBe(true);
        expect(
          within(
            storesOf(granted).flatMap(({ environment }) => environment ?? []),
            limit.environments,
          ),
        ).toBe(true);
        expect(
          within(
            granted.metrics.map(({ entry: own }) => own.metric.id),
            limit.metrics,
          ),
        ).toBe(true);
      }
      return true;
    });
  });

  test("of regions: more than one only where every metric's compliance scope lists them all", () => {
    checkGranted((asked) => {
      const granted = tryGrant(asked);
      if (granted === undefined || granted.regions.length < 2) return false;
      for (const { entry: own } of granted.metrics)
        expect(own.metric.complianceScope?.regions).toEqual(expect.arrayContaining([...granted.regions]));
      return true;
    });
  });

  test("of roles and scopes: a sensitive metric needs its role by name, any metric a scope to read", () => {
    checkGranted((asked) => {
      const granted = tryGrant(asked);
      if (granted === undefined) return false;
      const sensitive = granted.metrics.some(({ entry: own }) => own.metric.sensitivity !== "none");
      expect(!sensitive || asked.caller.roles.includes("finance-reader")).toBe(true);
      expect(asked.caller.scopes).not.toEqual(["team"]);
      return true;
    });
  });

  test("of narrowing: the stores granted with it are among those granted without it", () => {
    checkGranted((asked) => {
      const narrow = tryGrant(asked, { ...asked.narrowing, clientId: asked.caller.client });
      const wide = tryGrant(asked);
      // Without the narrowing the request may name no tenant, or span regions that it may not.
      if (narrow === undefined || wide === undefined) return false;
      expect(storesOf(wide)).toEqual(expect.arrayContaining([...storesOf(narrow)]));
      return true;
    });
  });

  test("of several narrowings, by client or by scope: each one removes names only, and the grant satisfies each", () => {
    const byScope = narrowings.map(({ tenants, regions, environments, metrics: own }): ClientConfig => ({
      scope: "team",
      tenants,
      regions,
      environments,
      metrics: own,
    }));
    const byClient = narrowings.map((narrowing): ClientConfig => ({ ...narrowing, clientId: "one" }));
    const several = fc.oneof(
      fc.array(byClient, { minLength: 1, maxLength: 3 }),
      fc.array(byScope, { minLength: 1, maxLength: 3 }),
    );
    let granted = 0;
    fc.assert(
      fc.property(asks, several, (asked, list) => {
        const caller = { ...asked.caller, client: "one", scopes: ["metrics:read", "team"] };
        const outcomes = list.map((_, index) => tryGrant({ ...asked, caller }, ...list.slice(0, index + 1)));
        outcomes.slice(1).forEach((after, index) => {
          const before = outcomes[index];
          if (after === undefined || before === undefined) return;
          expect(storesOf(before)).toEqual(expect.arrayContaining([...storesOf(after)]));
          expect(within(environmentsOf(after), environmentsOf(before))).toBe(true);
        });
        const last = outcomes.at(-1);
        if (last === undefined) return;
        granted += 1;
        for (const limit of list.map(orEvery)) {
          expect(within([last.tenant], limit.tenants)).toBe(true);
          expect(within(last.regions, limit.regions)).toBe(true);
          expect(within(environmentsOf(last), limit.environments)).toBe(true);
          expect(
            within(
              last.metrics.map(({ entry: held }) => held.metric.id),
              limit.metrics,
            ),
          ).toBe(true);
        }
      }),
      { seed: 7, numRuns: 3_000 },
    );
    expect(granted).toBeGreaterThan(60);
  });

  function orEvery(narrowing: ClientConfig): Pick<Caller, "tenants" | "regions" | "environments" | "metrics"> {
    const open = (names: readonly string[]): readonly string[] => (names.length === 0 ? ["*"] : names);
    const { tenants, regions, environments, metrics: own } = narrowing;
    return { tenants: open(tenants), regions: open(regions), environments: open(environments), metrics: open(own) };
  }

  function filtersAsClaims(asked: Asked["filters"]): Pick<Caller, "tenants" | "regions" | "environments" | "metrics"> {
    return {
      tenants: [asked.tenant ?? "*"],
      regions: asked.region ?? ["*"],
      environments: asked.environment ?? ["*"],
      metrics: ["*"],
    };
  }
});
