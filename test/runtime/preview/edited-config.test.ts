import { expect, test } from "vitest";
import { compile } from "../../../crds/compile/compile.ts";
import { WaitingSince } from "../../../crds/compile/waiting-since.ts";
import { allowAll } from "../../../crds/policy.ts";
import type { Resource } from "../../../crds/resource.ts";
import { validateResource } from "../../../crds/validate.ts";
import { editedConfig } from "../../../runtime/preview/edited-config.ts";
import { configIdentity, resourceEffect } from "../../../runtime/preview/preview-effect.ts";
import { resourceChanges } from "../../../runtime/preview/resource-changes.ts";
import { exampleCatalog } from "../prometheus/example-catalog.ts";

/** Secrets of the installation, which no preview has. */
const secrets = new Map(
  ["one", "two"].map((name) => [
    `default/${name}`,
    { key: Buffer.from(`the signing key of ${name}, thirty-two bytes`).toString("base64") },
  ]),
);

interface Spec {
  readonly state?: "Paused";
  readonly types?: readonly string[];
  readonly retry?: object;
  readonly headers?: readonly object[];
  readonly secret?: string;
}

function partner(name: string, spec: Spec = {}): Resource {
  const { types = ["payout.*"], retry, headers = [], secret = name, state } = spec;
  const { resource, problems } = validateResource({
    apiVersion: "heliograph.dev/v1alpha1",
    kind: "WebhookPartner",
    metadata: { namespace: "default", name },
    spec: {
      ...(state === undefined ? {} : { state }),
      endpoint: { url: `https://${name}.example/hooks/v1`, headers },
      signing: { keys: [{ id: "k1", secretRef: { name: secret, key: "key" } }] },
      subscriptions: [{ name: "all", types, tenants: ["acme"] }],
      ...(retry === undefined ? {} : { retry }),
    },
  });
  if (resource === undefined) throw new Error(JSON.stringify(problems));
  return resource;
}

const applied = (...resources: readonly Resource[]) => compile({ resources, secrets, policy: allowAll }).config;
const base = applied(partner("one"), partner("two"));
const edit = (...resources: readonly Resource[]) => editedConfig(base, { resources, prune: false });

test("the same resources change nothing, without the Secrets", () => {
  const { config, refused, unnamed } = edit(partner("one"), partner("two"));
  expect(resourceChanges(base, config)).toEqual({ added: [], removed: [], changed: [], unchanged: 2 });
  expect(configIdentity(config)).toBe(configIdentity(base));
  expect([refused, unnamed]).toEqual([[], []]);
});

test("the same paused and held resources change nothing", () => {
  const resources = [partner("one", { state: "Paused" }), partner("three"), partner("two")];
  const compiled = applied(...resources);
  const isOther = (name: string): object => (name === "two" ? { held: "not_permitted", state: "Paused" } : {});
  const partners = compiled.partners.map((one) => ({ ...one, ...isOther(one.name) }));
  const waiting = new WaitingSince().note({ ...compiled, partners }, () => undefined, 1_000);
  expect(waiting.partners.map(({ held, waitsSinceMs }) => [held, waitsSinceMs])).toEqual([
    [undefined, 1_000],
    ["unresolved", 1_000],
    ["not_permitted", 1_000],
  ]);
  const { config } = editedConfig(waiting, { resources, prune: false });
  expect(resourceChanges(waiting, config)).toEqual({ added: [], removed: [], changed: [], unchanged: 3 });
  expect(configIdentity(config)).toBe(configIdentity(waiting));
});

test("a held partner whose definition changes counts as resolved", () => {
  const compiled = applied(partner("three"));
  const { config } = editedConfig(compiled, { resources: [partner("three", { secret: "one" })], prune: false });
  const [change] = resourceChanges(compiled, config).changed;
  expect(change?.fields).toContainEqual({ field: "held", before: '"unresolved"' });
});

test("an object that the edit does not name stays, and goes with prune", () => {
  const resources = [partner("one")];
  const kept = editedConfig(base, { resources, prune: false });
  expect(kept.unnamed).toEqual(["WebhookPartner/default/two"]);
  expect(resourceChanges(base, kept.config)).toMatchObject({ added: [], removed: [], changed: [] });
  const pruned = editedConfig(base, { resources, prune: true });
  expect(resourceChanges(base, pruned.config).removed).toEqual(["WebhookPartner/default/two"]);
});

test("changed fields are named with both values, in the order of their names", () => {
  const { config } = edit(partner("one", { types: ["payout.*", "kyc.**"], retry: { scheduleSeconds: [1, 2] } }));
  const [change] = resourceChanges(base, config).changed;
  expect(change?.object).toBe("WebhookPartner/default/one");
  expect(change?.fields.map(({ field, after }) => [field, after])).toEqual([
    ["retry.scheduleSeconds", "[1,2]"],
    ["subscriptions[all].types", '["kyc.**","payout.*"]'],
  ]);
});

test("long values are shown where they differ, and marked where they are cut", () => {
  const many = Array.from({ length: 60 }, (_, index) => `payout.kind_${String(index).padStart(2, "0")}`);
  const { config } = edit(partner("one", { types: many }), partner("two"));
  const other = edit(partner("one", { types: [...many.slice(0, 50), "payout.last"] }), partner("two")).config;
  const [field] = resourceChanges(config, other).changed[0]?.fields ?? [];
  expect(field).toMatchObject({ field: "subscriptions[all].types" });
  expect(field?.before).toMatch(/^…[^…]*"payout.kind_49","payout.kind_50",[^…]*…$/u);
  expect(field?.after).toMatch(/^…[^…]*"payout.kind_49","payout.last"\]$/u);
  for (const text of [field?.before, field?.after]) expect(text?.length).toBeLessThanOrEqual(200);
});

test("an edited catalog of events names the part of each schema that changes", () => {
  const catalog = (properties: object): Resource => {
    const version = { version: "2026-01-31", schema: { type: "object", properties } };
    const spec = { owner: "payouts", types: [{ type: "payout.done", description: "Done.", versions: [version] }] };
    const { resource, problems } = validateResource({
      apiVersion: "heliograph.dev/v1alpha1",
      kind: "EventCatalog",
      metadata: { namespace: "default", name: "payouts" },
      spec,
    });
    if (resource === undefined) throw new Error(JSON.stringify(problems));
    return resource;
  };
  const text = { type: "string" };
  const { config } = editedConfig(applied(catalog({ id: text })), {
    resources: [catalog({ id: text, secret: text, url: text })],
    prune: false,
  });
  const schema = "types[payout.done].versions[2026-01-31].schema.properties";
  expect(resourceChanges(applied(catalog({ id: text })), config).changed).toEqual([
    {
      object: "EventCatalog/default/payouts",
      fields: [
        { field: `${schema}.secret.type`, after: '"string"' },
        { field: `${schema}.url.type`, after: '"string"' },
      ],
    },
  ]);
});

test("a header is named without its value, which may be a credential", () => {
  const { config } = edit(partner("one", { headers: [{ name: "X-Api-Key", value: "hush" }] }));
  const { changed } = resourceChanges(base, config);
  expect(changed[0]?.fields).toEqual([{ field: "endpoint.headers.x-api-key", hidden: ["before", "after"] }]);
  expect(JSON.stringify(changed)).not.toContain("hush");
});

test("a store that is removed is one field, without its address", () => {
  const before = { ...base, catalogs: [exampleCatalog] };
  const [, ...stores] = exampleCatalog.stores;
  const [change] = resourceChanges(before, { ...base, catalogs: [{ ...exampleCatalog, stores }] }).changed;
  expect(change?.fields).toEqual([{ field: "stores[eu]", before: expect.stringContaining('"region":"eu"') as string }]);
  expect(change?.fields[0]?.before).not.toContain("http:");
});

test("an objective that changes is one field of the catalog, not of its metric as well", () => {
  const [name = ""] = exampleCatalog.slos.map((slo) => slo.name);
  const raised = <Slo extends { readonly name: string }>(slos: readonly Slo[]): readonly Slo[] =>
    slos.map((slo) => (slo.name === name ? { ...slo, objective: 0.5 } : slo));
  const metrics = exampleCatalog.metrics.map((metric) => ({ ...metric, slos: raised(metric.slos) }));
  const edited = { ...exampleCatalog, metrics, slos: raised(exampleCatalog.slos) };
  const [change] = resourceChanges({ ...base, catalogs: [exampleCatalog] }, { ...base, catalogs: [edited] }).changed;
  expect(change?.fields).toEqual([
    { field: `slos[${name}].objective`, before: expect.any(String) as string, after: "0.5" },
  ]);
});

test("another reference to a Secret is a change", () => {
  const { config } = edit(partner("one", { secret: "another" }));
  expect(resourceChanges(base, config).changed).toEqual([
    { object: "WebhookPartner/default/one", fields: [{ field: "references", hidden: ["before", "after"] }] },
  ]);
});

test("a value before the edit is hidden from callers of some tenants, and said to be", () => {
  const edited = edit(partner("one", { types: ["a.b"] }));
  const fieldsFor = (tenants: readonly string[]): unknown =>
    resourceEffect(base, edited, { tenants }).changed.flatMap(({ fields }) => fields);
  const [whole] = resourceChanges(base, edited.config).changed[0]?.fields ?? [];
  expect(whole).toMatchObject({ before: expect.any(String), after: '["a.b"]' });
  expect(fieldsFor(["*"])).toEqual([whole]);
  expect(fieldsFor(["acme"])).toEqual([{ field: whole?.field, after: '["a.b"]', hidden: ["before"] }]);
});

test("a new partner is added and permitted, whatever its key", () => {
  const { config, refused } = edit(partner("three"), partner("four"));
  expect(resourceChanges(base, config).added).toEqual(["WebhookPartner/default/four", "WebhookPartner/default/three"]);
  expect(refused).toEqual([]);
});

test("a quota for a client of another quota is refused, as the operator refuses it", () => {
  const quota = (name: string): Resource => {
    const { resource, problems } = validateResource({
      apiVersion: "heliograph.dev/v1alpha1",
      kind: "QueryClassQuota",
      metadata: { namespace: "default", name },
      spec: { class: "A", clients: [{ clientId: "grafana" }] },
    });
    if (resource === undefined) throw new Error(JSON.stringify(problems));
    return resource;
  };
  const { refused, config } = editedConfig(applied(quota("old")), { resources: [quota("new")], prune: false });
  expect(refused.map(({ object, reason }) => [object, reason])).toEqual([
    ["QueryClassQuota/default/new", "Conflicted"],
  ]);
  expect(config.quotas.map(({ name }) => name)).toEqual(["old"]);
});
