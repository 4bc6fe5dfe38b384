import type { Kind } from "../../crds/resource.ts";
import type { Schema } from "../tools/definition-schema.ts";
import { kinds } from "../../crds/types/schemas.ts";
import { validateResource } from "../../crds/validate.ts";
import { acceptedRows } from "../crds/accepted-rows.ts";
import { counter, histogram, ratio, slo } from "../crds/catalog-changes.ts";
import { specSchemas } from "../tools/resource-types.ts";
import { placedSchemas, type PlacedSchema } from "../crds/placed-schemas.ts";
import { plainObject, type Changes, type PlainObject } from "../crds/valid-objects.ts";

/** An object, and the same with one field at an edge of its schema. */
export interface FieldEdge {
  readonly kind: Kind;
  /** `spec.metrics[].unit` */
  readonly place: string;
  /** The edge, for people. */
  readonly says: string;
  readonly base: PlainObject;
  readonly edge: PlainObject;
}

const textShown = 60;

const matchers = [{ label: "job", op: "Equal", value: "x" }];
const prometheus = "stores[0].prometheus";
const schedule = { cron: "0 2 * * SUN", durationMinutes: 60, timeZone: "Europe/Berlin" };
const matcher = "subscriptions[0].matchers[0]";

/** Objects that between them have every field; what acceptedRows lack is here. */
const richer: Readonly<Record<Kind, readonly Changes[]>> = {
  WebhookPartner: [
    {
      "endpoint.headers": [{ name: "x-one", value: "1" }],
      "subscriptions[0].producers": ["ledger"],
      "subscriptions[0].matchers": [{ pointer: "/data/amount", value: "1" }],
      "subscriptions[0].payload": { include: ["/data/id"], excludeClasses: ["personal"] },
      "delivery.ratePerSecond": 10,
      "delivery.burst": 10,
      "delivery.maxBacklog": { messages: 1000, bytes: 2_000_000 },
      "deadLetter.retainSeconds": 600,
      "networks.allowCidrs": ["10.0.0.0/8"],
      circuitBreaker: { failures: 5, openSeconds: 60, maxOpenSeconds: 600 },
    },
    {
      "signing.keys[1]": { id: "old", secretRef: { name: "partner", key: "old" }, notAfter: "2030-01-01T00:00:00Z" },
      "subscriptions[0].matchers": [{ pointer: "/data/state", op: "In", values: ["paid"] }],
      "subscriptions[0].payload": { exclude: ["/data/iban"] },
    },
    {
      "endpoint.caBundleRef": { name: "ca" },
      "endpoint.clientCertificateRef": { name: "client" },
      "endpoint.oauth2": {
        tokenUrl: "https://id.example/token",
        clientId: "heliograph",
        clientSecretRef: { name: "store", key: "token" },
        scopes: ["hooks"],
      },
    },
  ],
  MetricCatalog: [
    {
      "stores[0].residency": "eu",
      "stores[0].environment": "prod",
      "stores[0].labelMap": { environment: "env" },
      [`${prometheus}.headers`]: [{ name: "X-One", value: "1" }],
      "metrics[0].source.gauge.matchers": matchers,
      "metrics[0].source.storeIntervals": [{ store: "eu", intervalSeconds: 15 }],
      "metrics[0].stores": ["eu"],
      "metrics[0].labels": ["region"],
      "metrics[0].minStepSeconds": 60,
    },
    {
      [prometheus]: undefined,
      "stores[0].peer": {
        url: "https://eu.example",
        auth: { bearer: { secretRef: { name: "peer" } } },
        tls: { caSecretRef: { name: "ca" }, clientSecretRef: { name: "client" }, serverName: "eu.example" },
      },
    },
    {
      [prometheus]: undefined,
      "stores[0].peer": {
        url: "https://eu.example",
        auth: {
          oauth2: {
            tokenUrl: "https://id.example/token",
            clientId: "eu",
            secretRef: { name: "peer" },
            resource: "urn:peers",
          },
        },
        tls: { clientSecretRef: { name: "client" } },
      },
    },
    {
      [`${prometheus}.auth`]: { basic: { secretRef: { name: "store" } } },
      [`${prometheus}.url`]: "https://eu.example",
    },
    {
      [`${prometheus}.auth`]: {
        oauth2: {
          tokenUrl: "https://id.example/token",
          clientId: "eu",
          secretRef: { name: "peer" },
          scopes: ["read"],
          audience: "stores",
          resource: "urn:store",
        },
      },
      [`${prometheus}.url`]: "https://eu.example",
    },
    {
      [`${prometheus}.auth`]: {
        sigv4: { region: "eu-west-1", secretRef: { name: "aws", sessionTokenKey: "session-token" } },
      },
      [`${prometheus}.url`]: "https://eu.example",
    },
    {
      [`${prometheus}.auth`]: {
        sigv4: { region: "eu-west-1", webIdentity: { roleArn: "arn:aws:iam::123456789012:role/reader" } },
      },
      [`${prometheus}.url`]: "https://eu.example",
    },
    { ...counter, "metrics[0].source.counter": { name: "n_total", matchers, increase: "Anchored" } },
    {
      ...ratio,
      "metrics[0].source.ratio": {
        numerator: { name: "good_total", matchers },
        denominator: { name: "all_total", matchers },
      },
      slos: [
        {
          ...slo,
          windowDays: 30,
          minimumEvents: 100,
          burnRates: [14.4, 6, 3, 1],
          counts: "Good",
          corrections: [{ reason: "failover", from: "2026-11-27T02:00:00Z", to: "2026-11-27T03:00:00Z" }],
        },
      ],
    },
    {
      ...histogram,
      "metrics[0].source.histogram": { name: "h", matchers },
      slos: [
        {
          ...slo,
          threshold: 100,
          calendar: { period: "Month", timeZone: "Europe/Berlin" },
          corrections: [{ reason: "backup", schedule }],
        },
      ],
    },
    { "metrics[0].complianceScope": { regions: ["eu", "latam"] } },
    {
      "metrics[1]": replacement("other"),
      "metrics[0].state": "Deprecated",
      "metrics[0].deprecatedAt": "2026-01-01T00:00:00Z",
      "metrics[0].replacedBy": "other",
    },
  ],
  QueryClassQuota: [
    {
      "clients[0]": {
        clientId: "dashboards",
        tenants: ["lumen"],
        regions: ["eu"],
        environments: ["prod"],
        metrics: ["cpu_util"],
      },
      limits: { maxSeries: 10, maxWindowSeconds: 3600, minStepSeconds: 60, maxGroupBy: 2 },
    },
    { clients: [{ scope: "dashboards" }] },
  ],
  EventCatalog: [
    {
      contact: "#payouts",
      "types[0].sensitive": [{ pointer: "/id", class: "financial" }],
      "types[0].versions[0].schema": { type: "object", additionalProperties: { type: "string" } },
      "types[0].versions[0].examples": [{ id: "po_1" }],
      "types[0].versions[0].state": "Deprecated",
      "types[0].versions[0].deprecatedAt": "2026-01-01T00:00:00Z",
      "types[0].versions[0].sunsetAt": "2027-01-01T00:00:00Z",
    },
  ],
};

function replacement(id: string): object {
  const { spec } = plainObject("MetricCatalog", { "metrics[0].id": id });
  return (spec as { readonly metrics: readonly object[] }).metrics[0] ?? {};
}

const storesOf = (names: unknown, key?: string) =>
  (Array.isArray(names) ? names : []).map((one: unknown) => {
    const name = key === undefined ? one : Object(one)[key];
    return { name, region: name, prometheus: { url: "http://eu.example" } };
  });

/** What else an object needs so that a field can be at its edge. */
const companions: Readonly<Record<string, (value: unknown) => readonly Changes[]>> = {
  "spec.stores[].name": (name) => [{ "metrics[0].stores": [name], "metrics[0].source.storeIntervals": [] }],
  "spec.metrics[].source.storeIntervals[].store": (name) => [{ "stores[0].name": name, "metrics[0].stores": [name] }],
  "spec.metrics[].stores[]": (name) => [{ "stores[0].name": name, "metrics[0].source.storeIntervals": [] }],
  "spec.metrics[].id": (id) => [{ "slos[0].metric": id }],
  "spec.slos[].metric": (id) => [{ "metrics[0].id": id }],
  "spec.metrics[].replacedBy": (id) => [{ "metrics[1].id": id }],
  "spec.metrics[].state": () => [{ "metrics[0].deprecatedAt": undefined, "metrics[0].replacedBy": undefined }],
  "spec.metrics[].aggregations[]": (name) => [{ "metrics[0].defaultAggregation": name }],
  "spec.metrics[].defaultAggregation": (name) => [{ "metrics[0].aggregations": [name] }],
  "spec.metrics[].sensitivity": () => [{ "metrics[0].requiredRole": "role" }, { "metrics[0].requiredRole": undefined }],
  "spec.metrics[].source.intervalSeconds": () => [
    { "metrics[0].minStepSeconds": 14_400, "metrics[0].source.storeIntervals": [] },
  ],
  "spec.metrics[].source.storeIntervals[].intervalSeconds": () => [{ "metrics[0].minStepSeconds": 14_400 }],
  "spec.metrics[].minStepSeconds": () => [
    { "metrics[0].source.intervalSeconds": 1, "metrics[0].source.storeIntervals": [] },
  ],
  "spec.slos[].objective": () => [{ "slos[0].burnRates": [0.4, 0.3, 0.2, 0.1] }],
  "spec.slos[].burnRates[]": (rate) => [
    { "slos[0].burnRates": [rate, rate, rate, rate], "slos[0].objective": 0.999_9 },
  ],
  "spec.slos[].publicTenants": () => [{ "slos[0].public": true }],
  "spec.slos[].publicTenants[]": () => [{ "slos[0].public": true }],
  "spec.metrics[].source.storeIntervals": (list) => [
    { "metrics[0].stores": undefined, stores: storesOf(list, "store") },
  ],
  "spec.metrics[].stores": (names) => [{ stores: storesOf(names), "metrics[0].source.storeIntervals": [] }],
  "spec.metrics[].complianceScope.regions": (regions) => [{ stores: storesOf(regions) }],
  "spec.metrics[].complianceScope.regions[]": (region) => [{ "stores[0].region": region }],
  "spec.slos[].corrections[].from": () => [{ "slos[0].corrections[0].to": "2100-01-01T00:00:00Z" }],
  "spec.subscriptions[].matchers[].op": () => [
    { [`${matcher}.value`]: undefined },
    { [`${matcher}.value`]: undefined, [`${matcher}.values`]: ["1"] },
  ],
  "spec.subscriptions[].matchers[].type": () => [{ [`${matcher}.value`]: "true" }, { [`${matcher}.value`]: "null" }],
  "spec.delivery.ratePerSecond": () => [{ "delivery.burst": 10_000 }],
  "spec.retry.scheduleSeconds[]": (wait) => [{ "retry.scheduleSeconds": [wait], "retry.maxAgeSeconds": 2_592_000 }],
  "spec.cache.hotTailSeconds": () => [{ "cache.memorySeconds": 60 }],
  "spec.circuitBreaker.openSeconds": () => [{ "circuitBreaker.maxOpenSeconds": 86_400 }],
  "spec.circuitBreaker.maxOpenSeconds": () => [{ "circuitBreaker.openSeconds": 1 }],
  "spec.networks.allowPlaintext": () => [{ "networks.allowCidrs": [] }],
};

/** Texts of single fields, given the longest length. */
const textsOf: Readonly<Record<string, (maxLength: number) => readonly string[]>> = {
  "spec.types[].type": (maxLength) => ["a.a", "a.".padEnd(maxLength, "a")],
  "spec.slos[].corrections[].schedule.cron": (maxLength) => ["0 0 * * *", "00 0 * * 1".padEnd(maxLength, ",1")],
  "spec.slos[].corrections[].schedule.timeZone": zones,
  "spec.slos[].calendar.timeZone": zones,
  "spec.stores[].prometheus.auth.sigv4.webIdentity.roleArn": (maxLength) => {
    const account = "arn:aws:iam::123456789012:role/";
    return [`${account}r`, account.padEnd(maxLength, "r")];
  },
};

/** The longest name that the pattern and the time zone database have, and a longer one that only the pattern has. */
function zones(maxLength: number): readonly string[] {
  return ["UTC", "America/North_Dakota/New_Salem", "Europe/A".padEnd(maxLength, "a")];
}

/** Texts that the shortest and longest letter `a` are none of. */
function textsAt(place: string, { format, minLength = 0, maxLength = 0 }: Schema): readonly string[] {
  const texts = textsOf[place]?.(maxLength);
  if (texts !== undefined) return texts;
  if (format === "date-time") return ["2029-01-01T00:00:00Z", latestTime(maxLength)];
  if (/url$/iu.test(place)) return ["https://a/v1", `https://a/v1/${"a".repeat(maxLength - "https://a/v1/".length)}`];
  if (format === "date") return ["2026-01-01", "9999-12-31"];
  if (/(?:pointer|include\[\]|exclude\[\])$/u.test(place)) return ["/a", `/${"a".repeat(maxLength - 1)}`];
  if (place.endsWith("allowCidrs[]")) return ["1::/8", "2001:0db8:1111:2222:3333:4444:5555:6666/128"];
  return [...new Set(["a".repeat(minLength), "a".repeat(maxLength)])];
}

/** With milliseconds where they fit. */
function latestTime(maxLength: number): string {
  const second = "2099-12-31T23:59:59";
  return maxLength === `${second}Z`.length ? `${second}Z` : `${second}.999Z`;
}

function edgeValues({ place, schema }: PlacedSchema): readonly unknown[] {
  if (schema.enum !== undefined) return schema.enum;
  switch (schema.type) {
    case "boolean":
      return [true, false];
    case "integer":
    case "number":
      return [schema.minimum, schema.maximum];
    case "string":
      return textsAt(place, schema);
    case "object":
    case "array":
      return [];
  }
}

/** Lists with as many and as few items as there may be, made like the one that is there. */
function edgeLists({ place, schema }: PlacedSchema, present: unknown): readonly unknown[] {
  if (schema.type !== "array" || schema.items === undefined) return [];
  const { minItems = 0, maxItems = 0, items } = schema;
  const [like] = Array.isArray(present) ? present : [];
  if (items.enum !== undefined) return [items.enum.slice(0, minItems), items.enum.slice(0, maxItems)];
  const keys = schema["x-kubernetes-list-map-keys"] ?? ["clientId", "scope"];
  const item = (index: number): unknown => itemLike(place, items, { like, keys }, index);
  return [minItems, maxItems].map((count) => Array.from({ length: count }, (_, index) => item(index)));
}

function itemLike(
  place: string,
  items: Schema,
  { like, keys }: { readonly like: unknown; readonly keys: readonly string[] },
  index: number,
): unknown {
  if (items.type === "object") {
    if (index === 0) return like;
    const names = keys.filter((name) => Object.hasOwn(Object(like), name));
    const key = Object.hasOwn(Object(like), "secretRef")
      ? { secretRef: { ...Reflect.get(Object(like), "secretRef"), key: `n${index}` } }
      : {};
    return { ...Object(like), ...Object.fromEntries(names.map((name) => [name, keyAt(place, index)])), ...key };
  }
  if (items.type !== "string") return items.minimum;
  if (place.endsWith("allowCidrs")) return `10.${index}.0.0/16`;
  return /[.](?:include|exclude)$/u.test(place) ? `/n${index}` : `n${index}`;
}

/** The key of one item among others of its list. */
function keyAt(place: string, index: number): string {
  if (place === "spec.types") return `payout.n${index}`;
  if (place === "spec.types[].versions") return `2026-02-${String(index + 1).padStart(2, "0")}`;
  return place.endsWith("sensitive") ? `/n${index}` : `n${index}`;
}

/** `spec.metrics[].id` → `metrics[0].id`; the first key signs and never expires. */
function pathOf(place: string): string {
  if (place === "spec.signing.keys[].notAfter") return "signing.keys[1].notAfter";
  return place
    .replace(/^spec\.?/u, "")
    .replaceAll("[]", "[0]")
    .replace("labelMap.*", "labelMap.region");
}

function valueAt(spec: unknown, path: string): unknown {
  return path
    .split(/[.[\]]+/u)
    .filter(Boolean)
    .reduce<unknown>((value, segment) => (value === undefined ? undefined : Object(value)[segment]), spec);
}

function basesOf(kind: Kind): readonly Changes[] {
  const rows = acceptedRows.filter((row) => row.kind === kind && row.replaces === undefined);
  return [...richer[kind], ...rows.map(({ set }) => set)];
}

function isValid(object: PlainObject, old?: PlainObject): boolean {
  const before = old === undefined ? undefined : validateResource(old).resource;
  return validateResource(object, before).problems.length === 0;
}

/** The first object that can have the field at that edge, and become so by an edit; undefined when there is none. */
function edgeAt(
  kind: Kind,
  { place }: PlacedSchema,
  value: unknown,
  bases: readonly Changes[],
): Pick<FieldEdge, "base" | "edge"> | undefined {
  const path = pathOf(place);
  const more = [{}, ...(companions[place]?.(value) ?? [])];
  for (const changes of bases) {
    const base = plainObject(kind, changes);
    for (const companion of more) {
      const others = kind === "MetricCatalog" && place !== "spec.schemaVersion" ? { schemaVersion: "edge" } : {};
      const edge = plainObject(kind, { ...changes, ...others, ...companion, [path]: value });
      if (isValid(base) && isValid(edge, base) && isValid(base, edge)) return { base, edge };
    }
  }
  return undefined;
}

/** Bases whose object has what the field is part of. */
function holders(kind: Kind, place: string): readonly Changes[] {
  const parent = pathOf(place).replace(/[.]?[^.[\]]+$|\[0\]$/u, "");
  return basesOf(kind).filter(
    (changes) => parent === "" || valueAt(plainObject(kind, changes).spec, parent) !== undefined,
  );
}

function edgesAt(
  kind: Kind,
  placed: PlacedSchema,
): { readonly edges: readonly FieldEdge[]; readonly impossible: readonly string[] } {
  const { place } = placed;
  const bases = holders(kind, place);
  const present = bases
    .map((changes) => valueAt(plainObject(kind, changes).spec, pathOf(place)))
    .find((value) => value !== undefined);
  const values = [...edgeValues(placed), ...edgeLists(placed, present)];
  const found = values.map((value) => ({ says: saysOf(value), made: edgeAt(kind, placed, value, bases) }));
  return {
    edges: found.flatMap(({ says, made }) => (made === undefined ? [] : [{ kind, place, says, ...made }])),
    impossible: found.flatMap(({ says, made }) => (made === undefined ? [`${kind} ${place} = ${says}`] : [])),
  };
}

function saysOf(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > textShown ? `${text.slice(0, textShown)}…` : text;
}

/** Every edge of every field that an object can have, and those that none can. */
export function allFieldEdges(): {
  readonly edges: readonly FieldEdge[];
  readonly impossible: readonly string[];
  readonly places: readonly string[];
} {
  const fields = (kind: Kind) =>
    placedSchemas(specSchemas[kind], "spec").filter(({ schema }) => schema.type !== "object");
  const placed = kinds.flatMap((kind) => fields(kind).map((one) => ({ kind, one })));
  const all = placed.map(({ kind, one }) => edgesAt(kind, one));
  return {
    edges: all.flatMap(({ edges }) => edges),
    impossible: all.flatMap(({ impossible }) => impossible),
    places: placed.map(({ kind, one }) => `${kind} ${one.place}`),
  };
}
