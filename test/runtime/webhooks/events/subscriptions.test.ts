import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SubscriptionConfig } from "../../../../crds/config.ts";
import { compilePattern, compileSubscriptions } from "../../../../runtime/webhooks/events/subscriptions.ts";

describe("a pattern", () => {
  test.each([
    ["payout.processed", "payout.processed", true],
    ["payout.processed", "payout.created", false],
    ["payout.processed", "payout.processed.late", false],
    ["payout.*", "payout.processed", true],
    ["payout.*", "payout", false],
    ["payout.*", "payout.batch.processed", false],
    ["*.processed", "payout.processed", true],
    ["*.processed", "payout.batch.processed", false],
    ["payout.*.processed", "payout.batch.processed", true],
    ["payout.**", "payout.processed", true],
    ["payout.**", "payout.batch.processed", true],
    ["payout.**", "payout", false],
    ["**", "payout.processed", true],
    ["*.**", "payout.processed", true],
    ["*.**", "payout", false],
    ["payout.proc*", "payout.processed", false],
    ["a.b", "aXb", false],
  ])("%s against %s: %s", (pattern, type, matches) => {
    expect(compilePattern(pattern)(type)).toBe(matches);
  });

  const segment = fc.stringMatching(/^[A-Za-z0-9_-]{1,6}$/u);
  const type = fc.array(segment, { minLength: 2, maxLength: 6 });

  test("matches every type from which it was made by replacing segments with *", () => {
    fc.assert(
      fc.property(type, fc.infiniteStream(fc.boolean()), (segments, stars) => {
        const pattern = segments.map((given) => (stars.next().value === true ? "*" : given)).join(".");
        expect(compilePattern(pattern)(segments.join("."))).toBe(true);
      }),
    );
  });

  test("with a last ** matches a type exactly when its fixed part is a proper prefix", () => {
    fc.assert(
      fc.property(type, fc.nat(6), fc.boolean(), (segments, length, isOther) => {
        const prefix = segments.slice(0, length).map((given) => (isOther ? `${given}x` : given));
        const matches = length < segments.length && (!isOther || prefix.length === 0);
        expect(compilePattern([...prefix, "**"].join("."))(segments.join("."))).toBe(matches);
      }),
    );
  });

  test("without stars matches only itself", () => {
    fc.assert(
      fc.property(type, type, (a, b) => {
        expect(compilePattern(a.join("."))(b.join("."))).toBe(a.join(".") === b.join("."));
      }),
    );
  });
});

describe("subscriptions", () => {
  const subscription = (given: Partial<SubscriptionConfig>): SubscriptionConfig => ({
    name: "s",
    types: ["**"],
    tenants: ["*"],
    producers: [],
    ...given,
  });
  const event = { type: "payout.processed", tenant: "acme", producer: "payments" };

  test.each([
    ["another tenant does not match", [subscription({ tenants: ["zeta"] })], event, false],
    ["the tenant among several matches", [subscription({ tenants: ["zeta", "acme"] })], event, true],
    ["* takes events without a tenant too", [subscription({})], { ...event, tenant: "-" }, true],
    ["- takes events without a tenant", [subscription({ tenants: ["-"] })], { ...event, tenant: "-" }, true],
    ["- takes no event of a tenant", [subscription({ tenants: ["-"] })], event, false],
    ["another producer does not match", [subscription({ producers: ["risk"] })], event, false],
    [
      "a producer list takes no event without one",
      [subscription({ producers: ["risk"] })],
      { type: "a.b", tenant: "-" },
      false,
    ],
    ["no producers means every producer", [subscription({ producers: [] })], event, true],
    [
      "the three must match in one subscription",
      [subscription({ types: ["a.b"] }), subscription({ tenants: ["zeta"] })],
      event,
      false,
    ],
    ["one matching subscription is enough", [subscription({ types: ["a.b"] }), subscription({})], event, true],
    ["no subscription wants nothing", [], event, false],
  ])("%s", (_sentence, subscriptions, given, wanted) => {
    expect(compileSubscriptions(subscriptions)(given)).toBe(wanted);
  });
});
