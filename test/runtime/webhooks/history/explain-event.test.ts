import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EventExplanation, PartnerExplanation } from "../../../../api/partner-health.ts";
import type { EventVersionConfig, PartnerConfig, SubscriptionConfig } from "../../../../crds/config.ts";
import type { DeclaredType } from "../../../../crds/declared-types.ts";
import {
  explainEvent,
  type ExplainCaller,
  type ExplainedEvent,
  type ExplainQuery,
} from "../../../../runtime/webhooks/history/explain-event.ts";
import { createRoutingTable } from "../../../../runtime/webhooks/partners/configured-partners.ts";
import { compilePartners } from "../../../../runtime/webhooks/partners/partner.ts";
import { runsOf } from "../../../support/soak.ts";
import { configOf, partnerConfig } from "../engine-fixture.ts";

const url = "https://example.com/v1";
const hash = "0123456789abcdef0123";
const everyone: ExplainCaller = { tenants: ["*"] };

const wanted: SubscriptionConfig = {
  name: "paid",
  types: ["payout.*"],
  tenants: ["acme"],
  selects: { producers: ["payments"], matchers: [{ pointer: "/data/amount", op: "GreaterThan", value: "10" }] },
};

function eventOf(more: Partial<ExplainedEvent["event"]> = {}, data: object = { amount: 11 }): ExplainedEvent["event"] {
  const facts = { type: "payout.done", tenant: "acme", producer: "payments" };
  return { ...facts, body: Buffer.from(JSON.stringify({ version: "2026-01-01", data })), ...more };
}

const nowMs = Date.parse("2026-06-01T00:00:00Z");

/** Types of a catalog that declares one version of `payout.done`. */
function declaredAs(version: Partial<EventVersionConfig>): ReadonlyMap<string, DeclaredType> {
  const whole = { version: "2026-01-01", schema: {}, examples: [], state: "Active" as const, ...version };
  const type = { type: "payout.done", description: "", catalog: "default/payouts", owner: "team", sensitive: [] };
  return new Map([[type.type, { ...type, versions: new Map([[whole.version, whole]]) }]]);
}

interface Given {
  readonly configs: readonly PartnerConfig[];
  readonly explained: Partial<ExplainedEvent> & Pick<ExplainedEvent, "event">;
  readonly caller?: ExplainCaller;
  readonly query?: Partial<ExplainQuery>;
  readonly rejected?: string;
  readonly declared?: ReadonlyMap<string, DeclaredType>;
}

function explain({ configs, explained, caller = everyone, query, rejected, declared }: Given): EventExplanation {
  const partners = compilePartners(configOf(...configs), []);
  const notApplied = { uid: "u", namespace: "default", name: rejected ?? "", reason: "Conflict" as const, message: "" };
  const deps = {
    partners: () => partners,
    notApplied: () => new Map(rejected === undefined ? [] : [["key", notApplied]]),
    configuration: () => hash,
    declared: () => declared ?? new Map<string, DeclaredType>(),
    now: () => nowMs,
  };
  const whole = { hidden: [], deliveries: [], routedBy: hash.slice(0, 16), ...explained };
  return explainEvent(deps, whole, caller, { limit: 50, ...query });
}

const one = (subscription: SubscriptionConfig = wanted, more: Partial<PartnerConfig> = {}): PartnerConfig =>
  partnerConfig("one", url, { subscriptions: [subscription], ...more });

function first(given: Omit<Given, "configs"> & { readonly configs?: Given["configs"] }): PartnerExplanation {
  const [found] = explain({ configs: [one()], ...given }).partners;
  if (found === undefined) throw new Error("no partner is explained");
  return found;
}

describe("the explanation of an event", () => {
  test.each([
    ["type", { type: "refund.done" }],
    ["tenant", { tenant: "vega" }],
    ["producer", { producer: "risk" }],
    ["no_record", {}],
    ["ping", { only: "another" }],
  ])("names what the nearest subscription lacks: %s", (reason, event) => {
    const found = first({ explained: { event: eventOf(event) } });
    expect(found).toMatchObject({ partner: "default/one", routed: false, reason, matcher: null });
  });

  test.each([
    [{ amount: 10 }, "number", "10"],
    [{ amount: "9007199254740993" }, "string", "9007199254740993"],
    [{ amount: {} }, "object", null],
    [{}, "missing", null],
  ])("names the matcher that %j does not meet", (data, found, value) => {
    expect(first({ explained: { event: eventOf({}, data) } })).toMatchObject({
      reason: "matcher",
      subscription: "paid",
      matcher: { operator: "GreaterThan", pointer: "/data/amount", found, value },
    });
  });

  test("shows no value that is hidden from the token", () => {
    const explained = { event: eventOf({}, { amount: 3 }), hidden: [{ exclude: ["/data/amount"] }] };
    const caller = { tenants: ["*"], partners: ["default/one"] };
    const found = first({ explained, caller });
    expect(found).toMatchObject({ reason: "matcher", matcher: { found: "hidden", value: null } });
  });

  test("names a withdrawn permission, except to tokens that are limited to partners", () => {
    const configs = [one({ ...wanted, types: ["kyc.*"] }, { withdrawn: [wanted] })];
    const explained = { event: eventOf() };
    expect(first({ configs, explained })).toMatchObject({ reason: "withdrawn", subscription: "paid" });
    const caller = { tenants: ["*"], partners: ["default/one"] };
    expect(first({ configs, explained, caller })).toMatchObject({ reason: "type" });
  });

  test("lists rejected partners only for tokens of all tenants", () => {
    const given = { configs: [], explained: { event: eventOf() }, rejected: "lost" };
    expect(explain(given).partners).toMatchObject([
      { partner: "default/lost", reason: "not_applied", state: "Conflict" },
    ]);
    expect(explain({ ...given, caller: { tenants: ["acme"] } }).partners).toEqual([]);
  });

  test("reports the reason and the wait of deliveries", () => {
    const delivery = { partner: "default/one", generation: 0, next_attempt_at: null, handled: null, attempts: [] };
    const routed = { routed_by: { configuration: hash.slice(0, 16) }, waiting: null };
    const dead = { ...delivery, ...routed, state: "dead" as const, reason: "backlog_full" };
    expect(first({ explained: { event: eventOf(), deliveries: [dead] } })).toMatchObject({
      routed: true,
      reason: "backlog_full",
      state: "dead",
    });
    const waiting = { kind: "paused" as const, reason: null, since: null, until: null };
    const paused = { ...delivery, ...routed, state: "held" as const, reason: null, waiting };
    expect(first({ explained: { event: eventOf(), deliveries: [paused] } }).reason).toBe("paused");
    const lost = { ...delivery, ...routed, state: "not_routed" as const, reason: "not_permitted" };
    const found = first({ explained: { event: eventOf(), deliveries: [lost] } });
    expect(found).toMatchObject({ routed: false, reason: "withdrawn" });
  });

  test.each([
    [hash.slice(0, 16), "at_routing", "no_record"],
    ["fedcba9876543210", "now", "matches_now"],
    [undefined, "now", "matches_now"],
  ])("was evaluated with the configuration %s: %s", (routedBy, evaluated, reason) => {
    const found = explain({ configs: [one()], explained: { event: eventOf(), routedBy } });
    expect(found).toMatchObject({ evaluated, configuration: hash.slice(0, 16), routed_by: routedBy ?? null });
    expect(found.partners[0]?.reason).toBe(reason);
  });

  test.each([
    ["an event that is not stored: the partners would get it", false, "would_be_routed"],
    ["a repeat of a stored event: no partner would get it again", true, "duplicate"],
  ])("of a dry run of %s", (_, isDuplicate, reason) => {
    const explained = { event: eventOf(), routedBy: undefined, dryRun: { isDuplicate } };
    const found = explain({ configs: [one(), partnerConfig("two", url, { subscriptions: [] })], explained });
    expect(found).toMatchObject({ evaluated: "now", routed_by: null });
    expect(found.partners).toMatchObject([{ routed: false, reason, subscription: "paid" }]);
  });

  test.each([
    ["Undeclared", null, undefined],
    ["Undeclared", null, { version: "2026-01-02" }],
    ["Active", null, {}],
    ["Deprecated", "2026-06-01T00:00:00.001Z", { state: "Deprecated" as const, sunsetAtMs: nowMs + 1 }],
    ["Retired", "2026-06-01T00:00:00.000Z", { state: "Deprecated" as const, sunsetAtMs: nowMs }],
  ])("states that the version of the event is %s, until %s", (state, sunset, version) => {
    const declared = version === undefined ? {} : { declared: declaredAs(version) };
    const found = explain({ configs: [one()], explained: { event: eventOf() }, ...declared });
    expect(found.declaration).toEqual({ state, sunset_at: sunset });
  });

  test("shows no partners and tenants that the token may not see", () => {
    const others = partnerConfig("vega", url, { subscriptions: [{ ...wanted, tenants: ["vega"] }] });
    const configs = [one(), partnerConfig("two", url), others];
    const names = (caller: ExplainCaller) =>
      explain({ configs, explained: { event: eventOf() }, caller }).partners.map(({ partner }) => partner);
    expect(names(everyone)).toEqual(["default/one", "default/two", "default/vega"]);
    expect(names({ tenants: ["acme"] })).toEqual(["default/one", "default/two"]);
    expect(names({ tenants: ["*"], partners: ["default/vega"] })).toEqual(["default/vega"]);
  });

  test("has pages of 10,000 partners", () => {
    const configs = Array.from({ length: 10_000 }, (_, index) =>
      partnerConfig(`p${String(index).padStart(5, "0")}`, url, { subscriptions: [wanted] }),
    );
    const explained = { event: eventOf({}, {}) };
    const page = explain({ configs, explained });
    expect([page.partners.length, page.cursor]).toEqual([50, "default/p00049"]);
    const last = explain({ configs, explained, query: { after: "default/p09989" } });
    expect([last.partners.length, last.cursor]).toEqual([10, null]);
    const only = explain({ configs, explained, query: { partner: "default/p00777" } });
    expect([only.partners.map(({ partner }) => partner), only.cursor]).toEqual([["default/p00777"], null]);
  });

  test("agrees with the routing of any event", () => {
    const matcher = fc.record({
      pointer: fc.constantFrom("/data/a", "/type"),
      op: fc.constantFrom("Equal", "NotEqual", "Exists", "NotExists", "Prefix"),
      value: fc.constantFrom("x", "y"),
    });
    const subscription = fc
      .record({
        types: fc.subarray(["payout.*", "refund.**", "kyc.done"], { minLength: 1 }),
        tenants: fc.subarray(["acme", "vega", "*"], { minLength: 1 }),
        producers: fc.subarray(["payments", "risk"]),
        matchers: fc.array(matcher, { maxLength: 2 }),
      })
      .map(({ types, tenants, ...selects }): SubscriptionConfig => ({
        name: "s",
        types,
        tenants,
        selects: selects as NonNullable<SubscriptionConfig["selects"]>,
      }));
    const lists = fc.record({
      subscriptions: fc.array(subscription, { maxLength: 3 }),
      withdrawn: fc.array(subscription, { maxLength: 2 }),
    });
    const given = fc.record({
      partners: fc.array(lists, { maxLength: 4 }),
      type: fc.constantFrom("payout.done", "refund.a.b", "kyc.done"),
      tenant: fc.constantFrom("acme", "vega", "-"),
      producer: fc.constantFrom("payments", "risk", undefined),
      data: fc.record({ a: fc.constantFrom("x", "xy", 1, null) }, { requiredKeys: [] }),
    });
    fc.assert(
      fc.property(given, ({ partners, type, tenant, producer, data }) => {
        const configs = partners.map((some, index) => partnerConfig(`p${index}`, url, some));
        const facts = { type, tenant, ...(producer === undefined ? {} : { producer }) };
        const body = Buffer.from(JSON.stringify({ type, data }));
        const { producer: _none, ...rest } = eventOf();
        const event = { ...rest, ...facts, body };
        const route = createRoutingTable(compilePartners(configOf(...configs), [])).routeOf(event);
        const found = explain({ configs, explained: { event } }).partners;
        const names = (reason: string): readonly string[] =>
          found.filter((each) => each.reason === reason).map((each) => each.partner);
        expect(names("no_record")).toEqual(route.matching.map(({ label }) => label));
        expect(names("withdrawn")).toEqual(route.denied.map(({ label }) => label));
      }),
      { numRuns: runsOf(200) },
    );
  });
});
