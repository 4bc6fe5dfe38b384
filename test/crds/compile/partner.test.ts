import { describe, expect, test } from "vitest";
import type { CompileResult } from "../../../crds/compile/compile.ts";
import { keyOf, compiled, first, materialOf, partnerSecrets, resourceOf } from "./resources.ts";

const partnerWith = (changes: Readonly<Record<string, unknown>>) => {
  const { config, results } = compiled([resourceOf("WebhookPartner", changes)]);
  return { partner: first(config.partners), warnings: first(results).warnings };
};

describe("a compiled partner", () => {
  test("holds everything that the runtime applies, with times of the runtime in milliseconds", () => {
    const resource = resourceOf(
      "WebhookPartner",
      {
        "endpoint.timeoutSeconds": 3,
        "endpoint.headers": [{ name: "X-Team", value: "Payments" }],
        "signing.keys[1]": { id: "old", secretRef: { name: "partner", key: "old" }, notAfter: "2026-03-01T00:00:00Z" },
        "subscriptions[0].types": ["payout.processed", "payout.created"],
        "networks.allowCidrs": ["192.168.0.0/16", "10.0.0.0/8"],
        state: "Paused",
      },
      { uid: "7f9c24e5-0000-4000-8000-000000000000", generation: 4 },
    );
    const { config } = compiled([resource]);
    expect(config.partners).toEqual([
      {
        uid: "7f9c24e5-0000-4000-8000-000000000000",
        namespace: "default",
        name: "example",
        generation: 4,
        specDigest: expect.stringMatching(/^[0-9a-f]{64}$/u),
        endpoint: {
          url: "https://partner.example/webhooks/v1/payments",
          timeoutMs: 3_000,
          headers: { "x-team": "Payments" },
          idempotencyMs: 259_200_000,
        },
        signing: {
          scheme: "HmacV1",
          keys: [
            { id: "current", material: materialOf("default/partner/hmac", keyOf(1)) },
            { id: "old", material: materialOf("default/partner/old", keyOf(2)), notAfterMs: Date.UTC(2026, 2, 1) },
          ],
        },
        subscriptions: [
          { name: "payouts", types: ["payout.created", "payout.processed"], tenants: ["lumen"], producers: [] },
        ],
        delivery: { maxInFlight: 64, maxBacklog: { messages: 200_000, bytes: 268_435_456 } },
        retry: {
          scheduleSeconds: [5, 15, 30, 60, 120, 300, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400],
          maxAgeSeconds: 604_800,
          jitterPercent: 10,
        },
        circuitBreaker: { failures: 20, openMs: 30_000, maxOpenMs: 600_000 },
        networks: { allowCidrs: ["10.0.0.0/8", "192.168.0.0/16"], allowPlaintext: false },
        state: "Paused",
      },
    ]);
    expect(config.material).toEqual({
      [materialOf("default/partner/hmac", keyOf(1))]: keyOf(1),
      [materialOf("default/partner/old", keyOf(2))]: keyOf(2),
    });
  });

  test("keeps the order of its subscriptions if one selects a payload", () => {
    const all = { types: ["**"], tenants: ["*"] };
    const payload = { exclude: ["/data/a"] };
    const { partner } = partnerWith({
      subscriptions: [
        { name: "z", ...all, payload },
        { name: "a", ...all },
      ],
    });
    expect(partner.subscriptions).toEqual([
      { name: "a", ...all, selects: { producers: [], order: 1 } },
      { name: "z", ...all, selects: { producers: [], payload: [payload], order: 0 } },
    ]);
  });

  test.each<[says: string, one: object, other: object, isWarned: boolean]>([
    ["overlapping types", { types: ["payout.*"] }, { types: ["*.created"] }, true],
    ["an open type", { types: ["payout.**"] }, { types: ["payout.batch.created"] }, true],
    ["other types", { types: ["payout.*"] }, { types: ["payout.a.b", "kyc.*"] }, false],
    ["an open type that is longer", { types: ["payout.**"] }, { types: ["payout"] }, false],
    ["other tenants", { tenants: ["lumen"] }, { tenants: ["nova"] }, false],
    ["all tenants", { tenants: ["lumen"] }, { tenants: ["*"] }, true],
    ["other producers", { producers: ["a"] }, { producers: ["b"] }, false],
    ["the same payload", {}, { payload: { exclude: ["/data/a"] } }, false],
  ])("warns of two payloads for one event with %s: %#", (_, one, other, isWarned) => {
    const all = { types: ["**"], tenants: ["*"] };
    const { warnings } = partnerWith({
      subscriptions: [
        { name: "z", ...all, payload: { exclude: ["/data/a"] }, ...one },
        { name: "a", ...all, ...other },
      ],
    });
    const warning = "z and a may match one event; the payload of z, the first, is sent";
    expect(warnings).toEqual(isWarned ? [warning] : []);
  });

  test("warns of segments of pointers that name no value", () => {
    const { warnings } = partnerWith({
      "subscriptions[0].matchers": [{ pointer: "/data/l/*/x", op: "Exists" }],
      "subscriptions[0].payload": { exclude: ["/data/l/-", "/data/l/*", "/data/a-b"] },
    });
    expect(warnings).toEqual([
      "the pointer /data/l/*/x of a matcher of payouts is a name: matchers have no wildcards",
      "the pointer /data/l/- of the payload of payouts names no item of a list: use * for every item",
    ]);
  });

  test.each<[says: string, types: readonly string[], unresolved: readonly string[] | undefined]>([
    ["a declared type", ["payout.processed"], undefined],
    ["a mistyped type", ["payout.processd", "payout.*"], ["payout.processd"]],
    ["a longer pattern", ["payout.*.*", "payout.**"], ["payout.*.*"]],
    ["a domain without a catalog", ["kyc.passed"], undefined],
    ["a pattern of all domains", ["*.nothing", "**"], undefined],
  ])("names patterns that no declared type matches: %s", (_, types, unresolved) => {
    const all = [resourceOf("EventCatalog"), resourceOf("WebhookPartner", { "subscriptions[0].types": types })];
    const find = (results: CompileResult["results"]) => results.find(({ kind }) => kind === "WebhookPartner");
    expect(find(compiled(all).results)?.unresolvedTypes).toEqual(unresolved);
    expect(find(compiled(all.slice(1)).results)?.unresolvedTypes).toBeUndefined();
  });

  test("has a subscription with matchers in a form that earlier pods reject", () => {
    const matchers = [{ pointer: "/data/state", op: "Equal", value: "paid" }];
    const changes = { "subscriptions[0].matchers": [{ pointer: "/data/state", value: "paid" }] };
    const { partner } = partnerWith({ ...changes, "subscriptions[0].producers": ["payments"] });
    expect(partner.subscriptions).toEqual([
      { name: "payouts", types: ["payout.*"], tenants: ["lumen"], selects: { producers: ["payments"], matchers } },
    ]);
  });

  test.each([
    ["https://partner.example", "https://partner.example/webhooks/v1/{domain}"],
    ["https://partner.example/", "https://partner.example/webhooks/v1/{domain}"],
    ["https://[2606:4700::1]:8443", "https://[2606:4700::1]:8443/webhooks/v1/{domain}"],
    ["https://partner.example/hooks/v2/{domain}/", "https://partner.example/hooks/v2/{domain}/"],
  ])("turns the endpoint %s into %s (Webhook Event Delivery §4.1)", (written, url) => {
    const { partner, warnings } = partnerWith({ "endpoint.url": written });
    expect(partner.endpoint.url).toBe(url);
    expect(warnings).toEqual([]);
  });

  test.each([
    ["https://partner.example?code=v1/abc", "https://partner.example/webhooks/v1/{domain}?code=v1/abc", []],
    ["https://partner.example/?code=abc", "https://partner.example/webhooks/v1/{domain}?code=abc", []],
    ["https://partner.example/v1/a?code=abc", "https://partner.example/v1/a?code=abc", []],
    [
      "https://partner.example/hook?code=/v1/",
      "https://partner.example/hook?code=/v1/",
      ["the endpoint's path /hook has no version segment such as v1"],
    ],
  ])("keeps the query of %s, and names it nowhere else", (written, url, expected) => {
    const secrets = new Map([["default/partner", { hmac: Buffer.from(`whsec_${keyOf(1)}`).toString("base64") }]]);
    const changes = { "signing.scheme": "StandardWebhooks", "endpoint.url": written };
    const { config, results } = compiled([resourceOf("WebhookPartner", changes)], secrets);
    expect(first(config.partners).endpoint.url).toBe(url);
    expect(first(results).warnings).toEqual(expected);
  });

  test.each(["https://partner.example/hooks", "https://partner.example/v1beta", "https://v1.example/hooks/v"])(
    "is accepted with a warning when the path of %s names no version (Webhook Event Delivery §9)",
    (url) => {
      const { warnings } = partnerWith({ "endpoint.url": url });
      expect(warnings).toEqual([expect.stringContaining("no version segment")]);
    },
  );

  test.each<[string, Readonly<Record<string, unknown>>, object]>([
    [
      "a rate, with a second's worth for a burst",
      { "delivery.ratePerSecond": 7 },
      { delivery: { rate: { perSecond: 7, burst: 7 } } },
    ],
    [
      "a rate and a burst",
      { "delivery.ratePerSecond": 7, "delivery.burst": 1 },
      { delivery: { rate: { perSecond: 7, burst: 1 } } },
    ],
    [
      "whom to tell what was handled by hand",
      { "endpoint.ackUrl": "https://partner.example/webhooks/ack" },
      { endpoint: { ackUrl: "https://partner.example/webhooks/ack" } },
    ],
    [
      "keys that sign side by side",
      { "signing.sideBySide": true },
      { signing: { scheme: "HmacV1", sideBySide: true } },
    ],
    ["dead letters of its own age", { "deadLetter.retainSeconds": 60 }, { deadLetterSeconds: 60 }],
  ])("has %s", (_, changes, expected) => {
    expect(partnerWith(changes).partner).toMatchObject(expected);
  });

  test("without a rate and with its breaker off has neither", () => {
    const { partner } = partnerWith({ "circuitBreaker.enabled": false });
    expect(partner).not.toHaveProperty("circuitBreaker");
    expect(partner.delivery).not.toHaveProperty("rate");
  });

  test("keeps the order of keys, since the first signs (Webhook Event Delivery §5.4)", () => {
    const old = { id: "a-old", secretRef: { name: "partner", key: "old" } };
    const { partner } = partnerWith({ "signing.keys[1]": old });
    expect(partner.signing.keys.map(({ id }) => id)).toEqual(["current", "a-old"]);
  });

  test("is accepted with a warning when its key ends with a line feed", () => {
    const secrets = new Map([["default/partner", { hmac: Buffer.from(`${"k".repeat(32)}\n`).toString("base64") }]]);
    const { config, results } = compiled([resourceOf("WebhookPartner")], secrets);
    expect(config.partners).toHaveLength(1);
    expect(first(results).warnings).toEqual(["the signing key current ends with a newline, which is part of the key"]);
  });

  test.each([
    ["base64", "", 44],
    ["base64 and a line feed", "\n", 45],
  ])("warns of both readings when its key of Standard Webhooks is %s", (_, end, length) => {
    const written = Buffer.from(`${keyOf(1)}${end}`);
    const { config, results } = compiled(
      [resourceOf("WebhookPartner", { "signing.scheme": "StandardWebhooks" })],
      new Map([["default/partner", { hmac: written.toString("base64") }]]),
    );
    expect(Object.values(config.material)).toEqual([written.toString("base64")]);
    const { ambiguousKeys, warnings } = first(results);
    expect(ambiguousKeys).toEqual([
      `the signing key current is base64 without whsec_: deliveries are signed with its ${length} bytes as written, ` +
        "but Standard Webhooks libraries decode it to 32. If the recipient decodes it, add the prefix whsec_",
    ]);
    expect(warnings).toEqual(expect.arrayContaining([...ambiguousKeys]));
  });

  test("does not warn of another reading when its key has the prefix or is of another scheme", () => {
    const results = [
      compiled(
        [resourceOf("WebhookPartner", { "signing.scheme": "StandardWebhooks" })],
        new Map([["default/partner", { hmac: Buffer.from(`whsec_${keyOf(1)}`).toString("base64") }]]),
      ),
      compiled(
        [resourceOf("WebhookPartner")],
        new Map([["default/partner", { hmac: Buffer.from(keyOf(1)).toString("base64") }]]),
      ),
    ].map((one) => first(one.results));
    expect(results.map(({ ambiguousKeys }) => ambiguousKeys)).toEqual([[], []]);
  });

  test("has without a cluster a uid of its kind, namespace and name, and generation 1", () => {
    const secrets = new Map([...partnerSecrets, ["other/partner", { hmac: keyOf(3) }]]);
    const partnerNamed = (namespace: string) => {
      const resource = resourceOf("WebhookPartner", {}, { name: "acme", namespace });
      return first(compiled([resource], secrets).config.partners);
    };
    const partner = partnerNamed("default");
    expect(partner.uid).toBe("98ef86ad-dca0-8f25-8d48-de54fa6c3d94");
    expect(partner.generation).toBe(1);
    expect(partnerNamed("other").uid).not.toBe(partner.uid);
  });

  test("with a format is one that pods without formats reject, and without one is unchanged", () => {
    const { partner } = partnerWith({ format: "CloudEvents", "subscriptions[0].producers": ["b", "a"] });
    expect(partner.format).toBe("CloudEvents");
    expect(partner.subscriptions).toEqual([
      expect.objectContaining({ selects: { producers: ["a", "b"], format: "CloudEvents" } }),
    ]);
    expect(partner.subscriptions[0]).not.toHaveProperty("producers");
    const { partner: named } = partnerWith({ format: "Envelope" });
    expect({ ...named, specDigest: "" }).toEqual({ ...partnerWith({}).partner, specDigest: "" });
  });
});
