import type { Kind } from "../../crds/resource.ts";

/** An object as it is applied: before validation and defaults. */
export interface PlainObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: object;
}

/** Values by path below `spec`, for example `metrics[0].id`; an undefined value takes the field away. */
export type Changes = Readonly<Record<string, unknown>>;

/** The least that each kind accepts. */
const validSpecs: Readonly<Record<Kind, object>> = {
  WebhookPartner: {
    endpoint: { url: "https://partner.example/webhooks/v1/payments" },
    signing: { keys: [{ id: "current", secretRef: { name: "partner", key: "hmac" } }] },
    subscriptions: [{ name: "payouts", types: ["payout.*"], tenants: ["lumen"] }],
  },
  MetricCatalog: {
    schemaVersion: "2026-01",
    stores: [
      { name: "eu", region: "eu", prometheus: { url: "http://eu.example:9090" } },
      { name: "latam", region: "latam", prometheus: { url: "http://latam.example:9090" } },
    ],
    metrics: [
      {
        id: "cpu_util",
        category: "infrastructure",
        unit: "ratio",
        description: "Share of the processors in use.",
        source: { gauge: { name: "cpu_utilization_ratio" }, intervalSeconds: 15 },
        aggregations: ["avg"],
        defaultAggregation: "avg",
      },
    ],
  },
  QueryClassQuota: { class: "A", clients: [{ clientId: "dashboards" }] },
  EventCatalog: {
    owner: "team-payouts",
    types: [
      {
        type: "payout.processed",
        description: "A payout was sent to the bank.",
        versions: [{ version: "2026-01-31", schema: { type: "object", properties: { id: { type: "string" } } } }],
      },
    ],
  },
};

/** A valid object of the kind with the changes made. */
export function plainObject(kind: Kind, changes: Changes = {}, name = "example"): PlainObject {
  const spec = Object.entries(changes).reduce<unknown>(
    (made, [path, value]) => withValue(made, path.split(/[.[\]]+/u).filter(Boolean), value),
    validSpecs[kind],
  );
  return { apiVersion: "heliograph.dev/v1alpha1", kind, metadata: { name, namespace: "default" }, spec: Object(spec) };
}

function withValue(target: unknown, [segment, ...rest]: readonly string[], value: unknown): unknown {
  if (segment === undefined) return value;
  const below = withValue(Object(target)[segment], rest, value);
  if (Array.isArray(target) || (target === undefined && /^\d+$/u.test(segment)))
    return Object.assign([...((target as unknown[] | undefined) ?? [])], { [segment]: below });
  return { ...Object(target), [segment]: below };
}
