import { describe, expect, test } from "vitest";
import { digestOf } from "../../../crds/compile/canonical-json.ts";
import type { ResourceResult } from "../../../crds/compile/resource-result.ts";
import { compile } from "../../../crds/compile/compile.ts";
import { uidOf } from "../../../crds/compile/origin.ts";
import { partsOf } from "../../../crds/part.ts";
import { allowAll } from "../../../crds/policy.ts";
import type { Resource } from "../../../crds/resource.ts";
import { compiled, first, keyOf, materialOf, resourceOf } from "./resources.ts";

const older = "2026-01-01T00:00:00Z";
const younger = "2026-01-02T00:00:00Z";

/** `kind namespace/name: reason` of every object. */
function acceptance(results: readonly ResourceResult[]): readonly string[] {
  return results.map(({ kind, namespace, name, accepted }) => `${kind} ${namespace}/${name}: ${accepted.reason}`);
}

/** A partner of that name with a Secret of its own. */
function partnerOf(name: string, secret: string, creationTimestamp?: string): Resource {
  const metadata = creationTimestamp === undefined ? { name } : { name, creationTimestamp };
  return resourceOf("WebhookPartner", { "signing.keys[0].secretRef.name": secret }, metadata);
}

describe("unique keys", () => {
  test("of one metric id: the older catalog has it, the other is Conflicted", () => {
    const { config, results } = compiled([
      resourceOf("MetricCatalog", {}, { name: "a", creationTimestamp: younger }),
      resourceOf("MetricCatalog", {}, { name: "b", creationTimestamp: older }),
    ]);
    expect(config.catalogs.map(({ name }) => name)).toEqual(["b"]);
    expect(first(results)).toMatchObject({
      name: "a",
      accepted: {
        status: false,
        reason: "Conflicted",
        message: "spec.metrics[0].id: the metric cpu_util belongs to MetricCatalog default/b, which is older",
      },
      resolvedRefs: { status: true, reason: "ResolvedRefs" },
      problems: [{ field: "spec.metrics[0].id", reason: "Conflicted" }],
    });
  });

  test("without any age go by namespace and name, unless one is in force, and both are named", () => {
    const resources = [
      resourceOf("MetricCatalog", {}, { name: "a", namespace: "z" }),
      resourceOf("MetricCatalog", {}, { name: "b", namespace: "a" }),
    ];
    const { config, results } = compiled(resources);
    expect(config.catalogs.map(({ namespace }) => namespace)).toEqual(["a"]);
    const byName = "which comes first by namespace and name, unless z/a is in force already";
    const lost = "spec.metrics[0].id: the metric cpu_util belongs to MetricCatalog";
    expect(results.map(({ accepted }) => accepted.message)).toContain(`${lost} a/b, ${byName}`);
    const parts = partsOf(compiled(resources.slice(0, 1)).config);
    const before = { partOf: (one: Resource) => parts.get(uidOf(one)), nowMs: 0, lastGoodMs: 0, mayForget: true };
    const later = compile({ resources, secrets: new Map(), policy: allowAll, before });
    expect(later.config.catalogs.map(({ namespace }) => namespace)).toEqual(["z"]);
    expect(later.results.map(({ accepted }) => accepted.message)).toContain(`${lost} z/a, which is in force already`);
  });

  test.each([
    [
      "a client id",
      { clients: [{ clientId: "reports" }] },
      "spec.clients[0].clientId: the clientId reports belongs to",
    ],
    ["a scope", { clients: [{ scope: "metrics:read" }] }, "spec.clients[0].scope: the scope metrics:read belongs to"],
    ["a class default", { clients: [] }, "spec.class: the default of class A belongs to"],
  ])("of %s: the older quota has it", (_what, changes, message) => {
    const { config, results } = compiled([
      resourceOf("QueryClassQuota", changes, { name: "a", creationTimestamp: older }),
      resourceOf("QueryClassQuota", changes, { name: "b", creationTimestamp: younger }),
    ]);
    expect(config.quotas.map(({ name }) => name)).toEqual(["a"]);
    expect(results.map(({ accepted }) => accepted.reason)).toEqual(["Accepted", "Conflicted"]);
    expect(results[1]?.accepted.message).toContain(message);
  });

  test("of a client id and a scope of one name are two", () => {
    const { config } = compiled([
      resourceOf("QueryClassQuota", { clients: [{ clientId: "reports" }] }, { name: "a" }),
      resourceOf("QueryClassQuota", { clients: [{ scope: "reports" }] }, { name: "b" }),
      resourceOf("QueryClassQuota", { clients: [] }, { name: "c" }),
    ]);
    expect(config.quotas).toHaveLength(3);
  });

  test("of one signing key, by its bytes: the younger partner is SharedSigningKey (Webhook Event Delivery §5.4)", () => {
    const secrets = new Map([
      ["default/one", { hmac: keyOf(7) }],
      ["default/two", { hmac: keyOf(7) }],
    ]);
    const { config, results } = compiled([partnerOf("a", "one", younger), partnerOf("b", "two", older)], secrets);
    expect(config.partners.map(({ name }) => name)).toEqual(["b"]);
    expect(first(results).accepted).toEqual({
      status: false,
      reason: "SharedSigningKey",
      message: "spec.signing.keys[0].secretRef: the signing key belongs to WebhookPartner default/b, which is older",
    });
  });

  test("of one name: the older object has it", () => {
    const { config, results } = compiled([
      resourceOf("QueryClassQuota", { clients: [{ clientId: "one" }] }, { creationTimestamp: younger }),
      resourceOf("QueryClassQuota", { clients: [{ clientId: "two" }] }, { creationTimestamp: older }),
    ]);
    expect(config.quotas.flatMap(({ clients }) => clients.map(({ clientId }) => clientId))).toEqual(["two"]);
    expect(results.map(({ accepted }) => accepted.reason)).toEqual(["Accepted", "Conflicted"]);
  });

  test("of an object in conflict are free: the next object gets the other ones", () => {
    const clients = (...ids: readonly string[]) => ({ clients: ids.map((clientId) => ({ clientId })) });
    const { results } = compiled([
      resourceOf("QueryClassQuota", clients("x"), { name: "a", creationTimestamp: "2026-01-01T00:00:00Z" }),
      resourceOf("QueryClassQuota", clients("x", "y"), { name: "b", creationTimestamp: "2026-01-02T00:00:00Z" }),
      resourceOf("QueryClassQuota", clients("y"), { name: "c", creationTimestamp: "2026-01-03T00:00:00Z" }),
    ]);
    expect(results.map(({ accepted }) => accepted.status)).toEqual([true, false, true]);
  });

  test("of an older object that is invalid count for nothing", () => {
    const invalid = resourceOf(
      "MetricCatalog",
      { "metrics[0].defaultAggregation": "max" },
      { name: "a", creationTimestamp: older },
    );
    const { config, results } = compiled([
      invalid,
      resourceOf("MetricCatalog", {}, { name: "b", creationTimestamp: younger }),
    ]);
    expect(config.catalogs.map(({ name }) => name)).toEqual(["b"]);
    expect(acceptance(results)).toEqual(["MetricCatalog default/a: Invalid", "MetricCatalog default/b: Accepted"]);
  });

  test("of an older partner without all its keys count for nothing", () => {
    const twoKeys = { "signing.keys[1]": { id: "old", secretRef: { name: "partner", key: "gone" } } };
    const { config } = compiled([
      resourceOf("WebhookPartner", twoKeys, { name: "a", creationTimestamp: older }),
      resourceOf("WebhookPartner", {}, { name: "b", creationTimestamp: younger }),
    ]);
    expect(config.partners.map(({ name, held }) => [name, held])).toEqual([
      ["a", "unresolved"],
      ["b", undefined],
    ]);
  });
});

describe("references", () => {
  const field = "spec.signing.keys[0].secretRef";
  test.each([
    [
      "a Secret that is missing",
      new Map(),
      "SecretNotFound",
      `${field}.name: the Secret default/partner does not exist`,
    ],
    [
      "a Secret of another namespace",
      new Map([["other/partner", { hmac: keyOf(1) }]]),
      "SecretNotFound",
      `${field}.name: the Secret default/partner does not exist`,
    ],
    [
      "an entry that is missing",
      new Map([["default/partner", { HMAC: keyOf(1) }]]),
      "SecretKeyMissing",
      `${field}.key: the Secret default/partner has no key hmac`,
    ],
    [
      "a key of 31 bytes",
      new Map([["default/partner", { hmac: Buffer.alloc(31, 1).toString("base64") }]]),
      "KeyTooShort",
      `${field}.key: the signing key current has 31 bytes, fewer than 32`,
    ],
  ])("to %s let nothing be sent to the partner", (_what, secrets, reason, message) => {
    const { config, results } = compiled([resourceOf("WebhookPartner")], secrets);
    expect(config.partners).toMatchObject([
      { held: "unresolved", state: "Paused", signing: { keys: [] }, subscriptions: [{ name: "payouts" }] },
    ]);
    expect(config.material).toEqual({});
    expect(first(results)).toMatchObject({
      accepted: { status: true, reason: "Accepted" },
      resolvedRefs: { status: false, reason, message },
      problems: [{ reason }],
    });
  });

  test("to an entry named like a member of every object are missing", () => {
    const changes = { "signing.keys[0].secretRef.key": "constructor" };
    const { results } = compiled([resourceOf("WebhookPartner", changes)]);
    expect(first(results).resolvedRefs.reason).toBe("SecretKeyMissing");
  });
});

describe("an invalid object", () => {
  test("is marked with its first problem and the number of the others", () => {
    const { config, results } = compiled([
      resourceOf("WebhookPartner", { "endpoint.url": "http://a:b@partner.example/v1" }),
    ]);
    expect(config.partners).toEqual([]);
    expect(first(results)).toMatchObject({
      accepted: {
        status: false,
        reason: "Invalid",
        message:
          "spec.endpoint.url: the endpoint's URL must be https, unless networks.allowPlaintext is true (and 1 more)",
      },
      resolvedRefs: { status: false, reason: "NotChecked" },
    });
  });
});

describe("the digest of a spec", () => {
  const digestWith = (changes: Readonly<Record<string, unknown>>) => {
    const { config } = compiled([resourceOf("WebhookPartner", changes)]);
    return { spec: first(config.partners).specDigest, config: digestOf(config) };
  };

  test("changes with a field and comes back with it", () => {
    const before = digestWith({});
    const after = digestWith({ "delivery.maxInFlight": 65 });
    expect(after.spec).not.toBe(before.spec);
    expect(after.config).not.toBe(before.config);
    expect(digestWith({})).toEqual(before);
  });

  test("does not change when a default is written out", () => {
    expect(digestWith({ "delivery.maxInFlight": 64, state: "Active" })).toEqual(digestWith({}));
  });

  test("stays, and the configuration's changes, when the bytes of a key do", () => {
    const [before, after] = [1, 9].map((byte) => {
      return compiled([resourceOf("WebhookPartner")], new Map([["default/partner", { hmac: keyOf(byte) }]])).config;
    });
    const [old, rotated] = [first(before?.partners ?? []), first(after?.partners ?? [])];
    expect(old.specDigest).toBe(rotated.specDigest);
    expect(old.signing.keys).toEqual([{ id: "current", material: materialOf("default/partner/hmac", keyOf(1)) }]);
    expect(rotated.signing.keys).toEqual([{ id: "current", material: materialOf("default/partner/hmac", keyOf(9)) }]);
    expect(before?.material).toEqual({ [materialOf("default/partner/hmac", keyOf(1))]: keyOf(1) });
  });
});
