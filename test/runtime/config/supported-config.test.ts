import { classDefaults } from "../../../crds/compile/class-defaults.ts";
import { describe, expect, test } from "vitest";
import type { CatalogConfig, QuotaConfig, RuntimeConfig } from "../../../crds/config.ts";
import { supportedConfig } from "../../../runtime/config/supported-config.ts";
import { configOf } from "./shard-secrets.ts";

const good = configOf({ acme: {}, beta: {} }, {});
const quota = {
  uid: "q",
  namespace: "default",
  name: "q",
  generation: 3,
  class: "A",
  limits: classDefaults.A,
  perMetric: [],
  clients: [],
} as unknown as QuotaConfig;

/** The configuration with changes to the partner acme, deep in it. */
function withAcme(changes: object, config = good): RuntimeConfig {
  return {
    ...config,
    partners: config.partners.map((partner) => (partner.name === "acme" ? { ...partner, ...changes } : partner)),
  };
}

/** A subscription of acme in the form that depends on the content of events. */
function withSelects(selects: object): RuntimeConfig {
  return withAcme({ subscriptions: [{ name: "some", types: ["**"], tenants: ["*"], selects }] });
}

function withStore(changes: object): RuntimeConfig {
  const change = (catalog: CatalogConfig): CatalogConfig => ({
    ...catalog,
    stores: catalog.stores.map((store, index) => (index === 0 ? { ...store, ...changes } : store)),
  });
  return { ...good, catalogs: good.catalogs.map(change) };
}

function withMetrics(changes: object): RuntimeConfig {
  return {
    ...good,
    catalogs: good.catalogs.map((catalog) => ({
      ...catalog,
      metrics: catalog.metrics.map((metric) => ({ ...metric, ...changes })),
    })),
  };
}

const names = ({ partners, catalogs, quotas }: RuntimeConfig) =>
  [...partners, ...catalogs, ...quotas].map(({ name }) => name);

describe("a configuration of another version of the program", () => {
  test("that this one knows applies as it is", () => {
    const config = { ...good, quotas: [quota] };
    expect(supportedConfig(config, undefined)).toEqual({ config, errors: [] });
  });

  test("that has matchers applies as it is", () => {
    const matchers = [{ pointer: "/data/a", op: "LessThan", value: "1" }];
    const config = withSelects({ producers: ["payments"], matchers });
    expect(supportedConfig(config, undefined)).toEqual({ config, errors: [] });
  });

  test("and that holds a partner without a key applies as it is", () => {
    const config = withAcme({ held: "unresolved", state: "Paused", signing: { scheme: "HmacV1", keys: [] } });
    expect(supportedConfig(config, undefined)).toEqual({ config, errors: [] });
  });

  test.each<[string, RuntimeConfig, string]>([
    [
      "a signing scheme that is not known",
      withAcme({ signing: { ...good.partners[0]?.signing, scheme: "HmacV9" } }),
      "does not support the signing scheme HmacV9",
    ],
    [
      "a URL that is none",
      withAcme({ endpoint: { ...good.partners[0]?.endpoint, url: "ftp://x" } }),
      "ftp://x is not an http or https URL",
    ],
    ["no signing key", withAcme({ signing: { scheme: "HmacV1", keys: [] } }), "the bytes of the signing key are empty"],
    [
      "an empty signing key",
      {
        ...good,
        material: Object.fromEntries(
          Object.keys(good.material).map((id) => [id, id.includes("/acme/") ? "" : (good.material[id] ?? "")]),
        ),
      },
      "are empty",
    ],
    [
      "a key that is none of its scheme",
      withAcme({ signing: { ...good.partners[0]?.signing, scheme: "HttpMessageSignatures" } }),
      "a signing key cannot sign",
    ],
    [
      "a reason to be held and deliveries that go on",
      withAcme({ held: "unresolved" }),
      "the partner is held but not paused",
    ],
    [
      "withdrawn subscriptions of another shape",
      withAcme({ withdrawn: [{ name: "payouts" }] }),
      "a subscription is incomplete",
    ],
    [
      "an operator of a matcher that is not known",
      withSelects({ producers: [], matchers: [{ pointer: "/data/a", op: "Soundex", value: "a" }] }),
      "does not support the operator Soundex of the matcher of /data/a",
    ],
    [
      "a type of a matcher that is not known",
      withSelects({ producers: [], matchers: [{ pointer: "/data/a", op: "Equal", type: "Date", value: "a" }] }),
      "does not support the type Date of the matcher of /data/a",
    ],
    [
      "a part of a subscription that is not known",
      withSelects({ producers: [], sampling: 10 }),
      "does not support sampling of a subscription",
    ],
    [
      "a selection of a payload that is not known",
      withSelects({ producers: [], order: 0, payload: [{ exclude: ["/data/a"], excludeStrings: true }] }),
      "does not support excludeStrings of the payload of a subscription",
    ],
    ["matchers without producers", withSelects({ matchers: [] }), "a subscription is incomplete"],
    ["a format that is not known", withAcme({ format: "Avro" }), "does not support the format Avro"],
    ["a state that is not known", withAcme({ state: "Dormant" }), "does not support the state Dormant"],
    ["an empty retry schedule", withAcme({ retry: { scheduleSeconds: [] } }), "there is no retry schedule"],
    [
      "no cap on what is in flight",
      withAcme({ delivery: {} }),
      "delivery.maxInFlight is not a whole number of at least 1",
    ],
    [
      "a rate of nothing",
      withAcme({ delivery: { maxInFlight: 1, rate: { perSecond: 0, burst: 1 } } }),
      "the rate is incomplete",
    ],
    [
      "a backlog without bytes",
      withAcme({ delivery: { maxInFlight: 1, maxBacklog: { messages: 1 } } }),
      "the backlog is incomplete",
    ],
    [
      "a breaker that opens for no time",
      withAcme({ circuitBreaker: { failures: 1, openMs: 0, maxOpenMs: 1 } }),
      "the circuit breaker is incomplete",
    ],
    [
      "a part that is missing",
      withAcme({ endpoint: undefined }),
      "this version of the runtime cannot read the resource",
    ],
  ])("keeps a partner with %s as it was, and all the others as they are", (_name, config, message) => {
    const first = supportedConfig(config, undefined);
    expect(names(first.config)).toEqual(["beta", "example"]);
    const [error, ...more] = first.errors;
    expect(more).toEqual([]);
    expect(error).toMatchObject({
      kind: "WebhookPartner",
      namespace: "default",
      name: "acme",
      generation: 1,
      reason: "NotObeyable",
    });
    expect(error?.message).toContain(message);
    const second = supportedConfig(config, good);
    expect(second.config.partners).toEqual([good.partners[0], config.partners[1]]);
  });

  test("applies a partner that is held though it has no key and no subscription", () => {
    const held = withAcme({
      held: "unresolved",
      state: "Paused",
      signing: { scheme: "HmacV1", keys: [] },
      subscriptions: [],
    });
    expect(supportedConfig(held, good)).toEqual({ config: held, errors: [] });
  });

  test("brings the bytes of a kept partner's key along", () => {
    const rotated = withAcme({ state: "Dormant" }, configOf({ acme: { key: "new" }, beta: {} }, {}));
    const { config } = supportedConfig(rotated, good);
    const ids = config.partners.flatMap(({ signing }) => signing.keys.map(({ material }) => material));
    expect(ids.map((id) => config.material[id])).toEqual(ids.map((id) => good.material[id]));
  });

  test.each<[string, RuntimeConfig, string]>([
    [
      "a store whose URL is none",
      withStore({ prometheus: { url: "::", timeoutMs: 1 } }),
      "the store eu has no http or https URL: ::",
    ],
    [
      "a tenancy that is not known",
      withStore({ tenancy: "Sealed" }),
      "does not support the tenancy Sealed of the store eu",
    ],
    [
      "a flavour that is not known",
      withStore({ prometheus: { url: "http://eu:9090", flavour: "Lake" } }),
      "does not support the flavour Lake of the store eu",
    ],
    [
      "increases of a peer that are not known",
      withStore({ prometheus: undefined, peer: { url: "https://eu", increases: "Rounded" } }),
      "does not support the increases Rounded of the store eu",
    ],
    [
      "an aggregation that is not known",
      withMetrics({ aggregations: ["avg", "p999"] }),
      "does not support the aggregation p999 of the metric cpu_util",
    ],
    [
      "a default that is not known",
      withMetrics({ defaultAggregation: "p999" }),
      "does not support the aggregation p999 of the metric cpu_util",
    ],
    [
      "a label that is not known",
      withMetrics({ labels: ["region", "shop"] }),
      "does not support the label shop of the metric cpu_util",
    ],
    [
      "a sensitivity that is not known",
      withMetrics({ sensitivity: "medical" }),
      "does not support the sensitivity medical of the metric cpu_util",
    ],
    [
      "an increase that is not known",
      withMetrics({ source: { kind: "counter", increase: "Smoothed" } }),
      "does not support the increase Smoothed of the metric cpu_util",
    ],
    [
      "a histogram that is not known",
      withMetrics({ source: { kind: "histogram", type: "Sketch", increase: "Anchored" } }),
      "does not support the histogram Sketch of the metric cpu_util",
    ],
    [
      "a source that is not known",
      {
        ...good,
        catalogs: good.catalogs.map((catalog) => ({
          ...catalog,
          metrics: catalog.metrics.map(
            (metric) => ({ ...metric, source: { kind: "sketch" } }) as unknown as typeof metric,
          ),
        })),
      },
      "does not support the source sketch of the metric cpu_util",
    ],
  ])("keeps a catalog with %s as it was", (_name, config, message) => {
    const { config: applied, errors } = supportedConfig(config, good);
    expect(applied.catalogs).toEqual(good.catalogs);
    expect(errors).toMatchObject([{ kind: "MetricCatalog", name: "example" }]);
    expect(errors[0]?.message).toContain(message);
  });

  test("leaves out a quota of a class that is not known", () => {
    const config = { ...good, quotas: [{ ...quota, class: "D" } as unknown as QuotaConfig] };
    expect(supportedConfig(config, good)).toMatchObject({
      config: { quotas: [] },
      errors: [{ kind: "QueryClassQuota", generation: 3 }],
    });
  });
});
