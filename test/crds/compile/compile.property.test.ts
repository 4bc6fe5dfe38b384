import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, digestOf } from "../../../crds/compile/canonical-json.ts";
import type { ObjectMeta, Resource } from "../../../crds/resource.ts";
import { acceptedRows } from "../accepted-rows.ts";
import { ruleRows } from "../rule-rows.ts";
import { schemaRows } from "../schema-rows.ts";
import { compiled, materialOf, resourceOf } from "./resources.ts";

const secrets = new Map(
  ["one", "two"].flatMap((namespace) =>
    ["a", "b", "c"].map((name, index) => [
      `${namespace}/${name}`,
      {
        hmac: Buffer.alloc(32, `${name}-key-bytes`).toString("base64"),
        short: Buffer.alloc(31, index).toString("base64"),
      },
    ]),
  ),
);

const metadata: fc.Arbitrary<ObjectMeta> = fc
  .record({
    name: fc.constantFrom("x", "y", "z"),
    namespace: fc.constantFrom("one", "two"),
    creationTimestamp: fc.option(fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"), { nil: undefined }),
  })
  .map(({ creationTimestamp, ...names }) =>
    creationTimestamp === undefined ? names : { ...names, creationTimestamp },
  );

const partner = fc
  .tuple(
    metadata,
    fc.constantFrom("a", "b", "c", "missing"),
    fc.constantFrom("hmac", "short"),
    fc.integer({ min: 0, max: 3 }),
  )
  .map(([meta, name, key, maxInFlight]) =>
    resourceOf(
      "WebhookPartner",
      { "signing.keys[0].secretRef": { name, key }, "delivery.maxInFlight": maxInFlight },
      meta,
    ),
  );

const catalog = fc
  .tuple(metadata, fc.subarray(["cpu_util", "queue_consumer_lag", "NOT AN ID"], { minLength: 1 }))
  .map(([meta, ids]) =>
    resourceOf("MetricCatalog", Object.fromEntries(ids.map((id, index) => [`metrics[${index}]`, metricOf(id)])), meta),
  );

const quota = fc
  .tuple(metadata, fc.subarray(["dashboards", "reports"]), fc.constantFrom("A", "B", "D"))
  .map(([meta, ids, queryClass]) =>
    resourceOf("QueryClassQuota", { class: queryClass, clients: ids.map((clientId) => ({ clientId })) }, meta),
  );

function metricOf(id: string): object {
  return {
    id,
    category: "kri",
    unit: "1",
    description: "One of a few.",
    source: { gauge: { name: "series" }, intervalSeconds: 15 },
    aggregations: ["avg"],
    defaultAggregation: "avg",
  };
}

const resources = fc.array(fc.oneof(partner, catalog, quota), { maxLength: 8 });

/** A set and the same set in another order, the members of its objects reversed too. */
const reordered = resources.chain((set) =>
  fc.shuffledSubarray(set, { minLength: set.length }).map((shuffled) => ({ set, shuffled: shuffled.map(reversed) })),
);

function reversed<T>(value: T): T {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).toReversed();
  return Object.fromEntries(members.map(([name, member]) => [name, reversed<unknown>(member)])) as T;
}

const broken = fc
  .oneof(fc.constantFrom(...ruleRows.filter(({ replaces }) => replaces === undefined), ...schemaRows))
  .chain((row) => metadata.map((meta): Resource => resourceOf(row.kind, row.set, meta)));

describe("compile", () => {
  test("gives the same bytes for the same set in any order", () => {
    fc.assert(
      fc.property(reordered, ({ set, shuffled }) => {
        expect(canonicalJson(compiled(shuffled, secrets))).toBe(canonicalJson(compiled(set, secrets)));
      }),
    );
  });

  test("gives the others the same bytes with and without an object that is not applied", () => {
    fc.assert(
      fc.property(resources, broken, (set, bad) => {
        const without = compiled(set, secrets).config;
        expect(canonicalJson(compiled([...set, bad], secrets).config)).toBe(canonicalJson(without));
      }),
    );
  });

  test("gives the same bytes after taking out all that would be out alone", () => {
    fc.assert(
      fc.property(resources, (set) => {
        const { config } = compiled(set, secrets);
        const kept = set.filter((resource) =>
          compiled([resource], secrets).results.every(
            ({ problems, held }) => problems.length === 0 || held !== undefined,
          ),
        );
        expect(canonicalJson(compiled(kept, secrets).config)).toBe(canonicalJson(config));
      }),
    );
  });

  test("gives the bytes back when a field is changed and changed back", () => {
    for (const { kind, set } of acceptedRows) {
      const before = digestOf(compiled([resourceOf(kind)]).config);
      compiled([resourceOf(kind, set)]);
      expect(digestOf(compiled([resourceOf(kind)]).config)).toBe(before);
    }
  });

  test("puts one metric, client, scope, class and signing key into one object only", () => {
    fc.assert(
      fc.property(resources, (set) => {
        const { config } = compiled(set, secrets);
        const metrics = config.catalogs.flatMap((one) => one.metrics.map(({ id }) => id));
        const clients = config.quotas.flatMap((one) => one.clients.map(({ clientId }) => clientId));
        const classes = config.quotas.filter((one) => one.clients.length === 0).map((one) => one.class);
        const keys = Object.values(config.material);
        for (const names of [metrics, clients, classes, keys]) expect(new Set(names).size).toBe(names.length);
      }),
    );
  });

  test("shows key bytes under material and nowhere else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 48 }), (bytes) => {
        const key = Buffer.from(bytes);
        const { config, results } = compiled(
          [resourceOf("WebhookPartner"), resourceOf("WebhookPartner", {}, { name: "other" })],
          new Map([["default/partner", { hmac: key.toString("base64") }]]),
        );
        const base64 = key.toString("base64");
        expect(config.material).toEqual({ [materialOf("default/partner/hmac", base64)]: base64 });
        const shown = JSON.stringify({ ...config, material: {}, results });
        for (const encoding of ["base64", "base64url", "hex", "latin1"] as const)
          expect(shown).not.toContain(key.toString(encoding));
      }),
    );
  });
});
