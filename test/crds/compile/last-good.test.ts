import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../../crds/compile/canonical-json.ts";
import { allowAll, type InstallationPolicy } from "../../../crds/policy.ts";
import type { PartnerConfig } from "../../../crds/config.ts";
import type { Resource } from "../../../crds/resource.ts";
import { readSigners } from "../../../runtime/webhooks/signing/keys.ts";
import type { Changes } from "../valid-objects.ts";
import { compile, createCompiler } from "../../../crds/compile/compile.ts";
import type { ConfigPart } from "../../../crds/part.ts";
import { compileInTurn, dayMs, lastGoodMs, type Moment } from "./generations.ts";
import { first, keyOf, materialOf, partnerSecrets as secrets, resourceOf } from "./resources.ts";

const gone = new Map();
const keys = (...ids: readonly string[]) =>
  ids.map((id) => ({ id, secretRef: { name: "partner", key: id === "current" ? "hmac" : id } }));
const partner = (changes: Changes = {}, generation = 1): Resource =>
  resourceOf("WebhookPartner", changes, { generation });
const ofTenants = (...tenants: readonly string[]): Changes => ({ "subscriptions[0].tenants": tenants });
const granting = (grant: Partial<InstallationPolicy["grants"][number]>): InstallationPolicy => ({
  grants: allowAll.grants.map((all) => ({ ...all, ...grant })),
});

/** A partner that was in force with these settings, and then other moments. */
function afterwards(before: Changes, ...moments: readonly Moment[]) {
  const { config, results, againMs } = compileInTurn([{ resources: [partner(before)], secrets }, ...moments]);
  return { config, againMs, partner: first(config.partners), result: first(results) };
}

const good = first(compileInTurn([{ resources: [partner()], secrets }]).config.partners);
const current = materialOf("default/partner/hmac", keyOf(1));

/** One object of which something is pinned. */
function compilePinned(resource: Resource, part: ConfigPart, policy: InstallationPolicy) {
  return compile({ resources: [resource], secrets: gone, policy, held: new Map([[resource, part]]) });
}

describe("an applied partner", () => {
  test("stays as it was, key included, when its Secret is gone, and reports since and until when", () => {
    const { config, result, againMs } = afterwards({}, { resources: [partner()], nowMs: 5 });
    expect(config.partners).toEqual([{ ...good, lastGoodSinceMs: 5 }]);
    expect(config.material).toEqual({ [current]: keyOf(1) });
    expect(result).toMatchObject({
      accepted: { status: true },
      resolvedRefs: { status: false, reason: "SecretNotFound" },
      lastGood: { sinceMs: 5, untilMs: 5 + lastGoodMs },
    });
    expect(againMs).toBe(5 + lastGoodMs);
  });

  test.each<[string, Changes, Moment["secrets"]]>([
    ["the name of the Secret is misspelt", { "signing.keys[0].secretRef.name": "partnr" }, secrets],
    ["the entry is misspelt", { "signing.keys[0].secretRef.key": "hmca" }, secrets],
    ["the Secret cannot be read", {}, new Map([["default/partner", "unreadable"]])],
    ["the key is too short now", {}, new Map([["default/partner", { hmac: "AAAA" }]])],
    ["a certificate that is asked for is not there", { "endpoint.caBundleRef": { name: "ca" } }, secrets],
    [
      "a client secret that is asked for is not there",
      {
        "endpoint.oauth2": {
          tokenUrl: "https://id.example/t",
          clientId: "us",
          clientSecretRef: { name: "gone", key: "secret" },
        },
      },
      secrets,
    ],
  ])("stays as it was when %s", (_what, changes, found = gone) => {
    const { partner: now } = afterwards({}, { resources: [partner(changes, 2)], secrets: found, nowMs: 9 });
    expect(now).toEqual({ ...good, lastGoodSinceMs: 9 });
  });

  test("signs with the same bytes when a later version rejects its key by name", () => {
    const written = Buffer.from(`v1,whsec_${keyOf(1)}`).toString("base64");
    const found = new Map([["default/partner", { hmac: written }]]);
    const earlier = first(compile({ resources: [partner()], secrets: found, policy: allowAll }).config.partners);
    const signing = { ...earlier.signing, scheme: "StandardWebhooks" as const };
    const material = { [materialOf("default/partner/hmac", written)]: written };
    const part: ConfigPart = { kind: "WebhookPartner", config: { ...earlier, signing }, material };
    const { config, results } = compile({
      resources: [partner({ "signing.scheme": "StandardWebhooks" })],
      secrets: found,
      policy: allowAll,
      before: { partOf: () => part, nowMs: 5, lastGoodMs },
    });
    const [now] = config.partners;
    expect(now).toEqual({ ...earlier, signing, lastGoodSinceMs: 5 });
    expect(config.material).toEqual(material);
    expect(readSigners("StandardWebhooks", signing.keys, config.material)).toHaveLength(1);
    expect(first(results).resolvedRefs).toMatchObject({
      reason: "KeyUnusable",
      message: expect.stringContaining("has other text around whsec_") as unknown,
    });
  });

  test("stays as it was when a later rule made its spec invalid, until its time is over, and is held then", () => {
    const invalid = (nowMs: number): Moment => ({
      resources: [partner({ "endpoint.url": "ftp://x" }, 2)],
      secrets,
      nowMs,
    });
    const { partner: now, result, config } = afterwards({}, invalid(5));
    expect(now).toEqual({ ...good, lastGoodSinceMs: 5 });
    expect(config.material).toEqual({ [current]: keyOf(1) });
    expect(result).toMatchObject({
      accepted: { status: false, reason: "Invalid" },
      lastGood: { sinceMs: 5, untilMs: 5 + lastGoodMs },
    });
    const later = afterwards({}, invalid(5), invalid(5 + lastGoodMs));
    expect(later.partner).toMatchObject({
      uid: good.uid,
      held: "unresolved",
      state: "Paused",
      subscriptions: good.subscriptions,
      signing: { keys: [] },
    });
    expect(later.config.material).toEqual({});
  });

  test("stays held, and paused as its spec states, when it is made invalid while it is not permitted", () => {
    const forbidding = granting({ tenants: ["other"] });
    const invalid = { resources: [partner({ "endpoint.url": "ftp://x", state: "Paused" }, 3)], secrets, nowMs: 6 };
    expect(
      afterwards({}, { resources: [partner({}, 2)], secrets, policy: forbidding }, { ...invalid, policy: forbidding })
        .partner,
    ).toMatchObject({ held: "not_permitted", state: "Paused" });
    expect(afterwards({}, { resources: [partner({}, 2)], secrets, policy: forbidding }, invalid).partner).toMatchObject(
      { state: "Paused", subscriptions: good.subscriptions },
    );
  });

  test("keeps the time since which it does, over compilations", () => {
    const missing = (nowMs: number): Moment => ({ resources: [partner()], nowMs });
    expect(afterwards({}, missing(5), missing(6), missing(dayMs)).partner.lastGoodSinceMs).toBe(5);
  });

  test("follows its spec as soon as the Secret is back", () => {
    const { config, againMs } = afterwards(
      {},
      { resources: [partner()], nowMs: 5 },
      { resources: [partner()], secrets, nowMs: 6 },
    );
    expect(config.partners).toEqual([good]);
    expect(againMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("is held, and its bytes are gone, when the time is over; and is not taken for good again", () => {
    const missing = (nowMs: number): Moment => ({ resources: [partner()], nowMs });
    for (const moments of [
      [missing(5), missing(5 + lastGoodMs)],
      [missing(5), missing(5 + lastGoodMs), missing(6 + lastGoodMs)],
    ]) {
      const { config, result } = afterwards({}, ...moments);
      expect(config.partners).toMatchObject([
        { held: "unresolved", state: "Paused", signing: { keys: [] }, subscriptions: good.subscriptions },
      ]);
      expect(config.partners[0]).not.toHaveProperty("lastGoodSinceMs");
      expect(config.material).toEqual({});
      expect(result).toMatchObject({ held: "unresolved", resolvedRefs: { reason: "SecretNotFound" } });
      expect(result).not.toHaveProperty("lastGood");
    }
  });

  test("is held then by a compiler with a cache, though only the time has changed", () => {
    const [compileNext, resource] = [createCompiler(), partner()];
    const part: ConfigPart = {
      kind: "WebhookPartner",
      config: { ...good, lastGoodSinceMs: 5 },
      material: { [current]: keyOf(1) },
    };
    const heldAt = (nowMs: number) => {
      const before = { partOf: () => part, nowMs, lastGoodMs };
      return compileNext({ resources: [resource], secrets: gone, policy: allowAll, before }).config.partners.map(
        ({ held }) => held,
      );
    };
    expect([heldAt(5), heldAt(4 + lastGoodMs), heldAt(5 + lastGoodMs)]).toEqual([
      [undefined],
      [undefined],
      ["unresolved"],
    ]);
  });

  test("does not end early when the clock goes back", () => {
    expect(
      afterwards({}, { resources: [partner()], nowMs: dayMs }, { resources: [partner()], nowMs: 0 }).partner
        .lastGoodSinceMs,
    ).toBe(dayMs);
  });
});

describe("the last good version is narrowed by the present spec:", () => {
  const unread = (changes: Changes, nowMs = 5): Moment => ({ resources: [partner(changes, 2)], nowMs });
  const now = (before: Changes, after: Changes): PartnerConfig => afterwards(before, unread(after)).partner;

  test.each<[string, Changes, Changes, Partial<PartnerConfig>]>([
    [
      "a tenant that it names no longer",
      ofTenants("lumen", "nova"),
      ofTenants("nova"),
      { subscriptions: [{ ...first(good.subscriptions), tenants: ["nova"] }] },
    ],
    [
      "a tenant that was never in force",
      ofTenants("lumen"),
      ofTenants("lumen", "nova"),
      { subscriptions: good.subscriptions },
    ],
    [
      "every tenant but one",
      ofTenants("*"),
      ofTenants("nova"),
      { subscriptions: [{ ...first(good.subscriptions), tenants: ["nova"] }] },
    ],
    ["one tenant, and not the others", ofTenants("lumen"), ofTenants("*"), { subscriptions: good.subscriptions }],
    ["a whole subscription of another tenant", ofTenants("lumen"), ofTenants("nova"), { subscriptions: [] }],
    [
      "nothing, for another name of a subscription",
      {},
      { "subscriptions[0].name": "other" },
      { subscriptions: good.subscriptions },
    ],
    [
      "all producers but one",
      {},
      { "subscriptions[0].producers": ["till"] },
      { subscriptions: [{ ...first(good.subscriptions), producers: ["till"] }] },
    ],
    [
      "content that it requires now",
      { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "Exists" }] },
      { "subscriptions[0].matchers": [{ pointer: "/data/b", op: "Exists" }] },
      {
        subscriptions: [
          {
            name: "payouts",
            types: ["payout.*"],
            tenants: ["lumen"],
            selects: {
              producers: [],
              matchers: [
                { pointer: "/data/a", op: "Exists" },
                { pointer: "/data/b", op: "Exists" },
              ],
            },
          },
        ],
      },
    ],
    [
      "parts of events that it sends no longer, also without its key",
      { "subscriptions[0].payload": { exclude: ["/data/a"] } },
      { "subscriptions[0].payload": { include: ["/data/b"] } },
      {
        subscriptions: [
          expect.objectContaining({
            selects: { producers: [], payload: [{ exclude: ["/data/a"] }, { include: ["/data/b"] }], order: 0 },
          }),
        ],
      },
    ],
    [
      "no content that it requires no longer",
      { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "Exists" }] },
      {},
      { subscriptions: [expect.objectContaining({ selects: { producers: [], matchers: [expect.anything()] } })] },
    ],
    [
      "producers, with matchers",
      { "subscriptions[0].matchers": [{ pointer: "/data/a", op: "Exists" }] },
      {
        "subscriptions[0].matchers": [{ pointer: "/data/a", op: "Exists" }],
        "subscriptions[0].producers": ["till"],
      },
      {
        subscriptions: [
          expect.objectContaining({
            selects: { producers: ["till"], matchers: [{ pointer: "/data/a", op: "Exists" }] },
          }),
        ],
      },
    ],
    [
      "networks",
      { "networks.allowCidrs": ["10.0.0.0/8", "192.168.0.0/16"] },
      { "networks.allowCidrs": ["10.1.0.0/16"] },
      { networks: { allowCidrs: ["10.1.0.0/16"], allowPlaintext: false } },
    ],
    ["plain http", { "networks.allowPlaintext": true }, {}, { networks: { allowCidrs: [], allowPlaintext: false } }],
    ["everything that is sent, by a pause", {}, { state: "Paused" }, { state: "Paused" }],
    ["nothing by the end of a pause that was in force", { state: "Paused" }, {}, { state: "Paused" }],
  ])("%s", (_what, before, after, expected) => {
    expect(now(before, after)).toMatchObject(expected);
  });

  test("a key that is taken out never signs, and its bytes are gone", () => {
    const { partner: left, config } = afterwards(
      { "signing.keys": keys("current", "old") },
      unread({ "signing.keys": keys("old") }),
    );
    expect(left.signing.keys.map(({ id }) => id)).toEqual(["old"]);
    expect(config.material).toEqual({ [materialOf("default/partner/old", keyOf(2))]: keyOf(2) });
  });

  test("without a key that is left nothing is sent", () => {
    const { partner: left, config } = afterwards({}, unread({ "signing.keys": keys("new") }));
    expect(left).toMatchObject({ held: "unresolved", state: "Paused", signing: { keys: [] } });
    expect(config.material).toEqual({});
  });

  test("a key that is taken out does not come back with its name", () => {
    const { partner: left } = afterwards(
      { "signing.keys": keys("current", "old") },
      unread({ "signing.keys": keys("old") }),
      unread({ "signing.keys": keys("current", "old") }, 6),
    );
    expect(left.signing.keys.map(({ id }) => id)).toEqual(["old"]);
  });

  test("a key signs until the notAfter that it has now, and not longer than it had", () => {
    const ending = (notAfter: string): Changes => ({
      "signing.keys": [...keys("new"), { ...first(keys("current")), notAfter }],
    });
    const ended = (...moments: readonly Moment[]) => afterwards({}, ...moments);
    expect(ended(unread(ending("1970-01-02T00:00:00Z"))).partner.signing.keys).toEqual([
      { id: "current", material: current, notAfterMs: dayMs },
    ]);
    expect(ended(unread(ending("1970-01-02T00:00:00Z"))).againMs).toBe(dayMs);
    expect(
      ended(unread(ending("1970-01-02T00:00:00Z")), unread(ending("1970-01-03T00:00:00Z"))).partner.signing.keys[0]
        ?.notAfterMs,
    ).toBe(dayMs);
    expect(ended(unread(ending("1970-01-02T00:00:00Z"), dayMs)).partner).toMatchObject({
      held: "unresolved",
      signing: { keys: [] },
    });
  });
});

describe("a right that is withdrawn", () => {
  const lumenOnly = granting({ tenants: ["lumen"] });

  test("holds the partner; what is permitted still is routed, and the rest is named", () => {
    const { partner: now, result } = afterwards(ofTenants("lumen", "nova"), {
      resources: [partner(ofTenants("lumen", "nova"))],
      secrets,
      policy: lumenOnly,
    });
    const [payouts] = good.subscriptions;
    expect(now).toMatchObject({
      held: "not_permitted",
      state: "Paused",
      subscriptions: [{ ...payouts, tenants: ["lumen"] }],
      withdrawn: [{ ...payouts, tenants: ["lumen", "nova"] }],
    });
    expect(result).toMatchObject({ accepted: { status: false, reason: "NotPermitted" }, held: "not_permitted" });
  });

  test("of every tenant but one, and of producers, leaves what is granted", () => {
    const policy = granting({ tenants: ["lumen"], producers: ["till"] });
    const { partner: now } = afterwards(ofTenants("*"), { resources: [partner(ofTenants("*"))], secrets, policy });
    expect(now.subscriptions).toMatchObject([{ tenants: ["lumen"], producers: ["till"] }]);
    expect(now.withdrawn).toMatchObject([{ tenants: ["*"], producers: [] }]);
  });

  test("of a network alone holds the partner, and all its events wait", () => {
    const changes = { "networks.allowCidrs": ["10.0.0.0/8"] };
    const { partner: now } = afterwards(changes, {
      resources: [partner(changes)],
      secrets,
      policy: granting({ cidrs: [] }),
    });
    expect(now).toMatchObject({ held: "not_permitted", subscriptions: good.subscriptions });
    expect(now).not.toHaveProperty("withdrawn");
  });

  test("that comes back brings the partner back with its spec", () => {
    const resources = [partner(ofTenants("lumen", "nova"))];
    const { config } = afterwards(
      ofTenants("lumen", "nova"),
      { resources, secrets, policy: lumenOnly },
      { resources, secrets },
    );
    expect(config).toEqual(compileInTurn([{ resources, secrets }]).config);
  });

  test("that comes back while the Secret is away brings the last good version back", () => {
    const resources = [partner(ofTenants("lumen", "nova"))];
    const { partner: now } = afterwards(
      ofTenants("lumen", "nova"),
      { resources, policy: lumenOnly, nowMs: 3 },
      { resources, nowMs: 9 },
    );
    const { held: _held, withdrawn: _withdrawn, ...left } = now;
    expect(now).toMatchObject({ state: "Active", lastGoodSinceMs: 3, subscriptions: [{ tenants: ["lumen", "nova"] }] });
    expect(left).toEqual(now);
  });

  test("does not keep the bytes of a deleted Secret longer than the time", () => {
    const withdrawn = (nowMs: number): Moment => ({
      resources: [partner(ofTenants("nova"))],
      policy: lumenOnly,
      nowMs,
    });
    const { config } = afterwards(ofTenants("nova"), withdrawn(1), withdrawn(1 + lastGoodMs));
    expect(config.partners).toMatchObject([
      { held: "unresolved", signing: { keys: [] }, subscriptions: [], withdrawn: [{ tenants: ["nova"] }] },
    ]);
    expect(config.material).toEqual({});
  });

  test("from a partner that was never applied leaves it out", () => {
    const { config, results } = compileInTurn([
      { resources: [partner(ofTenants("nova"))], secrets, policy: lumenOnly },
    ]);
    expect(config.partners).toEqual([]);
    expect(first(results).accepted.reason).toBe("NotPermitted");
  });

  test("is not got by an edit: what was never permitted is not named as withdrawn", () => {
    const { partner: now } = afterwards(
      {},
      { resources: [partner(ofTenants("lumen", "nova"), 2)], secrets, policy: lumenOnly },
    );
    expect(now).toMatchObject({ held: "not_permitted", subscriptions: good.subscriptions });
    expect(now).not.toHaveProperty("withdrawn");
  });

  test("holds what a paused object had published, too", () => {
    const resource = partner(ofTenants("nova"));
    const published = compileInTurn([{ resources: [resource], secrets }]).config;
    const part = { kind: "WebhookPartner" as const, config: first(published.partners), material: published.material };
    const { config, results } = compilePinned(resource, part, lumenOnly);
    expect(config.partners).toMatchObject([
      { held: "not_permitted", subscriptions: [], withdrawn: [{ tenants: ["nova"] }] },
    ]);
    expect(first(results).accepted.reason).toBe("NotPermitted");
    expect(compilePinned(resource, { ...part, config: first(config.partners) }, allowAll).config).toEqual(published);
  });
});

describe("unique keys", () => {
  const elder = (changes: Changes = {}) =>
    resourceOf("WebhookPartner", changes, { name: "elder", creationTimestamp: "2025-01-01T00:00:00Z" });
  const younger = (changes: Changes = {}) =>
    resourceOf("WebhookPartner", changes, { name: "younger", creationTimestamp: "2026-01-01T00:00:00Z" });
  const other = { "signing.keys[0].secretRef.name": "other" };
  const all = new Map([...secrets, ["default/other", { hmac: keyOf(3) }]]);
  const namesOf = (moments: readonly Moment[]) =>
    compileInTurn(moments).config.partners.map(({ name, held }) => [name, held]);

  test("are kept by the last good version: no other object gets its key", () => {
    const moments = [
      { resources: [elder()], secrets },
      { resources: [elder({ "signing.keys[0].secretRef.name": "typo" }), younger()], secrets },
    ];
    expect(namesOf(moments)).toEqual([["elder", undefined]]);
    expect(compileInTurn(moments).results[1]?.accepted.reason).toBe("SharedSigningKey");
  });

  test("that are lost to an older object hold the partner that had them", () => {
    const moments = [
      { resources: [elder(), younger(other)], secrets: all },
      { resources: [elder(), younger()], secrets: all },
    ];
    const { config, results } = compileInTurn(moments);
    expect(config.partners[1]).toMatchObject({
      held: "conflicted",
      state: "Paused",
      subscriptions: good.subscriptions,
    });
    expect(results[1]).toMatchObject({ held: "conflicted", accepted: { status: false, reason: "SharedSigningKey" } });
  });

  test("are free while a partner is held", () => {
    const policy = { grants: allowAll.grants.map((grant) => ({ ...grant, tenants: ["nova"] })) };
    const moments = [
      { resources: [elder()], secrets },
      { resources: [elder(), younger(ofTenants("nova"))], secrets, policy },
    ];
    expect(namesOf(moments)).toEqual([
      ["elder", "not_permitted"],
      ["younger", undefined],
    ]);
  });

  test("go back to the older partner, and the younger one's events wait", () => {
    const policy = { grants: allowAll.grants.map((grant) => ({ ...grant, tenants: ["nova"] })) };
    const both = [elder(), younger(ofTenants("nova"))];
    expect(
      namesOf([
        { resources: [elder()], secrets },
        { resources: both, secrets, policy },
        { resources: both, secrets },
      ]),
    ).toEqual([
      ["elder", undefined],
      ["younger", "conflicted"],
    ]);
  });
});

describe("a catalog", () => {
  const store = {
    "stores[0].prometheus": {
      url: "https://eu.example",
      auth: { bearer: { secretRef: { name: "store", key: "token" } } },
    },
  };
  const catalog = (changes: Changes = {}, generation = 1) =>
    resourceOf("MetricCatalog", { ...store, ...changes }, { generation });
  const known = new Map([["default/store", { token: Buffer.from("hush").toString("base64") }]]);
  const before = { resources: [catalog()], secrets: known };
  const inForce = first(compileInTurn([before]).config.catalogs);

  test("stays as it was when a credential of a store is gone, until the time is over", () => {
    const missing = (nowMs: number): Moment => ({ resources: [catalog()], nowMs });
    const { config, results, againMs } = compileInTurn([before, missing(5), missing(9)]);
    expect(config.catalogs).toEqual([{ ...inForce, lastGoodSinceMs: 5 }]);
    expect(Object.values(config.material)).toEqual([Buffer.from("hush").toString("base64")]);
    expect(first(results).lastGood).toEqual({ sinceMs: 5, untilMs: againMs });
    expect(compileInTurn([before, missing(5), missing(5 + lastGoodMs)]).config).toMatchObject({
      catalogs: [],
      material: {},
    });
  });

  test("stays as it was when the name of a Secret is misspelt", () => {
    const misspelt = catalog({ "stores[0].prometheus.auth.bearer.secretRef.name": "stroe" }, 2);
    expect(compileInTurn([before, { resources: [misspelt], secrets: known, nowMs: 5 }]).config.catalogs).toEqual([
      { ...inForce, lastGoodSinceMs: 5 },
    ]);
  });

  test.each<[string, Changes]>([
    ["a metric", { "metrics[0].sensitivity": "finance", "metrics[0].requiredRole": "cfo" }],
    ["the place of a store", { "stores[0].prometheus.url": "https://other.example" }],
  ])("is left out when %s has changed: nothing is served that the spec removed", (_what, changes) => {
    expect(compileInTurn([before, { resources: [catalog(changes, 2)], nowMs: 5 }]).config.catalogs).toEqual([]);
  });
});

test("the same moments give the same bytes, and a moment that comes again changes nothing", () => {
  const moments: readonly Moment[] = [
    { resources: [partner(ofTenants("lumen", "nova"))], secrets },
    { resources: [partner(ofTenants("nova"), 2)], nowMs: 7 },
  ];
  expect(canonicalJson(compileInTurn(moments))).toBe(canonicalJson(compileInTurn(moments)));
  expect(canonicalJson(compileInTurn([...moments, ...moments.slice(1)]))).toBe(canonicalJson(compileInTurn(moments)));
});
