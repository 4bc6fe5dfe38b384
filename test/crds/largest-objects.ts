import { plainObject, type PlainObject } from "./valid-objects.ts";

/** Names of the greatest length that differ. */
function longNames(count: number, prefix: string, length: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`.padEnd(length, "x"));
}

const isGauge = (index: number): boolean => index % 2 === 1;

/**
 * A catalog with as many metrics, stores, references and SLOs as its lists hold, so far as etcd stores it: an object
 * has at most 1.5 MiB there.
 */
export function largestCatalog(): PlainObject {
  const names = longNames(32, "store-", 63);
  const regions = longNames(32, "region-", 63);
  const ids = longNames(256, "metric_", 64);
  const stores = names.map((name, index) => ({
    name,
    region: regions[index],
    prometheus: { url: "http://eu.example", ...(index < 20 ? {} : { flavour: "VictoriaMetrics" }) },
  }));
  const metrics = ids.map((id, index) => ({
    id,
    category: "slo",
    unit: "ratio",
    description: "One of many.",
    source: {
      ...(isGauge(index)
        ? { gauge: { name: "lag" } }
        : { ratio: { numerator: { name: "good_total" }, denominator: { name: "all_total" }, increase: "Anchored" } }),
      intervalSeconds: 15,
      storeIntervals: names.slice(0, 12).map((store) => ({ store, intervalSeconds: 30 })),
    },
    stores: names.slice(0, 20),
    aggregations: ["avg"],
    defaultAggregation: "avg",
    complianceScope: { regions: regions.slice(0, 16) },
    state: "Deprecated",
    deprecatedAt: "2026-01-01T00:00:00Z",
    replacedBy: ids[(index + 255) % 256],
  }));
  const slos = longNames(128, "slo-", 63).map((name, index) => ({
    name,
    domain: name,
    metric: ids[255 - index],
    objective: 0.999,
    public: true,
    calendar: { period: "Quarter", timeZone: "Europe/Berlin" },
    corrections: Array.from({ length: 16 }, () => ({
      reason: "r",
      schedule: { cron: "0 2 * * *", durationMinutes: 60, timeZone: "Europe/Berlin" },
    })),
    ...(isGauge(255 - index) ? { over: { operator: "AtMost", threshold: 100, sliceSeconds: 300 } } : {}),
  }));
  return plainObject("MetricCatalog", { stores, metrics, slos }, "largest");
}

/** A quota with as many clients and scopes as its list holds. */
export function largestQuota(): PlainObject {
  const names = longNames(256, "name-", 128);
  const clients = names.map((name, index) => (index % 2 === 0 ? { clientId: name } : { scope: name }));
  return plainObject("QueryClassQuota", { clients }, "largest");
}

/** A partner with as many keys, subscriptions and blocks as its lists hold. */
export function largestPartner(): PlainObject {
  const keys = longNames(8, "key-", 63).map((id) => ({ id, secretRef: { name: "partner", key: id } }));
  const types = longNames(64, "type-", 128);
  const tenants = longNames(64, "tenant-", 64);
  const subscriptions = longNames(64, "subscription-", 63).map((name) => ({ name, types, tenants }));
  const headers = longNames(16, "x-header-", 64).map((name) => ({ name, value: "value" }));
  const allowCidrs = Array.from({ length: 32 }, (_, index) => `2001:db8:1111:2222:3333:4444:5555:${index}/128`);
  const changes = {
    "signing.keys": keys,
    subscriptions,
    "endpoint.headers": headers,
    "networks.allowCidrs": allowCidrs,
  };
  return plainObject("WebhookPartner", changes, "largest");
}
