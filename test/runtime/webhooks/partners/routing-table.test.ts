import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PayloadConfig, RuntimeConfig, SubscriptionConfig } from "../../../../crds/config.ts";
import { compilePartners } from "../../../../runtime/webhooks/partners/partner.ts";
import { createRoutingTable } from "../../../../runtime/webhooks/partners/configured-partners.ts";
import { configOf, partnerConfig } from "../engine-fixture.ts";

const subscription = (types: readonly string[], tenants: readonly string[]) => [
  { name: "s", types, tenants, producers: [] },
];
const config = configOf(
  partnerConfig("all", "https://example.com/v1"),
  partnerConfig("acme", "https://example.com/v1", { subscriptions: subscription(["payout.*"], ["acme"]) }),
);

describe("the routing table", () => {
  test("returns the same result from its cache as from matching again", () => {
    const partners = compilePartners(config, []);
    const table = createRoutingTable(partners);
    const event = fc.record({
      type: fc.constantFrom("payout.processed", "payout.created", "kyc.passed"),
      tenant: fc.constantFrom("acme", "zeta", "-"),
      producer: fc.constantFrom("payments", "risk"),
    });
    fc.assert(
      fc.property(event, (given) => {
        const expected = partners.filter(({ matches: wants }) => wants(given));
        expect(table.partnersFor(given)).toEqual(expected);
        expect(table.partnersFor(given)).toEqual(expected);
      }),
    );
  });

  test("finds the same partners as asking each of them, for any subscriptions", () => {
    const segment = fc.constantFrom("a", "b", "*");
    const pattern = fc
      .tuple(fc.array(segment, { minLength: 1, maxLength: 3 }), fc.constantFrom("", ".**", ".c"))
      .map(([segments, end]) => segments.join(".") + end);
    const one = fc.record({
      types: fc.array(fc.oneof(pattern, fc.constant("**")), { minLength: 1, maxLength: 3 }),
      tenants: fc.subarray(["acme", "zeta", "-", "*"], { minLength: 1 }),
      producers: fc.subarray(["payments"]),
    });
    const named = one.map((given) => ({ name: "s", ...given }));
    const lists = fc.record({
      subscriptions: fc.array(named, { maxLength: 3 }),
      withdrawn: fc.array(named, { maxLength: 2 }),
    });
    const event = fc.record({
      type: fc.array(fc.constantFrom("a", "b", "c"), { minLength: 2, maxLength: 4 }).map((parts) => parts.join(".")),
      tenant: fc.constantFrom("acme", "zeta", "-", "other"),
      producer: fc.constantFrom("payments", "risk"),
      place: fc.nat(5),
      role: fc.constantFrom("none", "about", "only"),
    });
    fc.assert(
      fc.property(
        fc.array(lists, { minLength: 1, maxLength: 5 }),
        fc.array(event, { maxLength: 8 }),
        (given, events) => {
          const all = given.map((some, place) => partnerConfig(`p${place}`, "https://example.com/v1", some));
          const partners = compilePartners(configOf(...all), []);
          const table = createRoutingTable(partners);
          for (const { place, role, ...facts } of events) {
            const key = partners[place]?.key ?? "unknown";
            const asked = role === "none" ? facts : { ...facts, [role]: key };
            const { matching, denied } = table.routeOf(asked);
            const wanted = partners.filter((partner) => partner.matches(asked));
            const lost = partners.filter(
              (partner) => !wanted.includes(partner) && partner.candidateFor(asked).withdrawn.length > 0,
            );
            expect([matching, denied]).toEqual([wanted, lost]);
          }
        },
      ),
    );
  });

  test("decides by the content of each event only for partners whose subscriptions have matchers", () => {
    const paid = (withMatcher: boolean): SubscriptionConfig => ({
      name: "paid",
      types: ["payout.*"],
      tenants: ["acme"],
      ...(withMatcher
        ? { selects: { producers: [], matchers: [{ pointer: "/data/state", op: "Equal", value: "paid" }] } }
        : { producers: [] }),
    });
    const url = "https://example.com/v1";
    const partners = compilePartners(
      configOf(
        partnerConfig("all", url),
        partnerConfig("some", url, { subscriptions: [paid(true)] }),
        partnerConfig("both", url, { subscriptions: [paid(true), ...subscription(["payout.created"], ["acme"])] }),
        partnerConfig("lost", url, { subscriptions: [paid(true)], withdrawn: [paid(false)] }),
        partnerConfig("part", url, { subscriptions: [], withdrawn: [paid(true)] }),
      ),
      [],
    );
    const table = createRoutingTable(partners);
    const routeOf = (type: string, state?: string) => {
      const body = state === undefined ? {} : { body: Buffer.from(JSON.stringify({ data: { state } })) };
      const event = { type, tenant: "acme", ...body };
      const { matching, denied } = table.routeOf(event);
      expect(matching).toEqual(partners.filter((partner) => partner.matches(event)));
      return [matching, denied].map((some) => some.map(({ config: { name } }) => name).join());
    };
    expect(routeOf("payout.done", "paid")).toEqual(["all,some,both,lost", "part"]);
    expect(routeOf("payout.done", "open")).toEqual(["all", "lost"]);
    expect(routeOf("payout.created", "open")).toEqual(["all,both", "lost"]);
    expect(routeOf("kyc.done", "paid")).toEqual(["all", ""]);
    // Lists by the index have no bodies: a delivery may exist.
    expect(routeOf("payout.done")).toEqual(["all,some,both,lost", "part"]);
    expect(["payout.done", "kyc.done"].map((type) => table.readsContent({ type, tenant: "acme" }))).toEqual([
      true,
      false,
    ]);
  });

  test("selects the payload of the first subscription, with the classes that a catalog declares now", () => {
    const url = "https://example.com/v1";
    const some = (name: string, order: number, types: readonly string[], payload: readonly PayloadConfig[]) => {
      return { name, types, tenants: ["*"], selects: { producers: [], order, payload } };
    };
    const base = configOf(
      partnerConfig("all", url),
      partnerConfig("classes", url, {
        subscriptions: [
          some("a", 1, ["**"], [{ exclude: ["/data/x"] }]),
          some("z", 0, ["payout.*"], [{ include: ["/data/y"], excludeClasses: ["personal"] }]),
        ],
      }),
    );
    const declare = (...classes: readonly string[]): RuntimeConfig => {
      const sensitive = classes.map((name) => ({ pointer: `/${name}`, class: name }));
      const types = [{ type: "payout.done", description: "", versions: [], sensitive }];
      const origin = { uid: "u", namespace: "default", name: "events", generation: 1, specDigest: "" };
      return { ...base, eventCatalogs: [{ ...origin, owner: "payments", types }] };
    };
    const payloadsIn = (one: RuntimeConfig, type: string) => {
      const { payloads } = createRoutingTable(compilePartners(one, [])).routeOf({ type, tenant: "acme" });
      return [...payloads].map(
        ([
          {
            config: { name },
          },
          payload,
        ]) => [name, payload],
      );
    };
    const y = { include: ["/data/y"] };
    expect(payloadsIn(base, "payout.done")).toEqual([["classes", [y]]]);
    expect(payloadsIn(declare("personal", "other"), "payout.done")).toEqual([
      ["classes", [y, { exclude: ["/data/personal"] }]],
    ]);
    expect(payloadsIn(declare("personal"), "payout.new")).toEqual([["classes", [y]]]);
    expect(payloadsIn(declare("personal"), "kyc.done")).toEqual([["classes", [{ exclude: ["/data/x"] }]]]);
    const before = compilePartners(declare("personal"), []);
    const same = compilePartners(declare("personal"), before);
    const other = compilePartners(declare("other"), before);
    expect([same, other].map((after) => after.map((partner, index) => partner === before[index]))).toEqual([
      [true, true],
      [true, false],
    ]);
  });

  test("caches no more than its limit", () => {
    const table = createRoutingTable(compilePartners(config, []));
    for (let index = 0; index < 10_000; index += 1)
      expect(table.partnersFor({ type: `payout.t${index}`, tenant: "acme" })).toHaveLength(2);
  });
});

describe("compiled partners", () => {
  test("stay the same objects when nothing about them changed", () => {
    const before = compilePartners(config, []);
    const other = partnerConfig("all", "https://example.com/v2");
    const after = compilePartners(configOf(...config.partners.slice(1), other), before);
    expect(after[0]).toBe(before[1]);
    expect(after[1]).not.toBe(before[0]);
  });

  test("change when their key does", () => {
    const [material = ""] = Object.keys(config.material);
    const before = compilePartners(config, []);
    const after = compilePartners({ ...config, material: { [material]: Buffer.alloc(32).toString("base64") } }, before);
    expect(after[0]).not.toBe(before[0]);
  });

  test("have no key when the configuration holds none", () => {
    expect(compilePartners({ ...config, material: {} }, [])[0]?.signers).toEqual([]);
  });

  test("put the first segment of the type into the URL", () => {
    const url = "https://example.com/webhooks/v1/{domain}";
    const [partner] = compilePartners(configOf(partnerConfig("one", url)), []);
    expect(partner?.urlFor("payout.processed").href).toBe("https://example.com/webhooks/v1/payout");
    expect(partner?.urlFor("kyc.passed").href).toBe("https://example.com/webhooks/v1/kyc");
  });
});
