import { describe, expect, test } from "vitest";
import type { EventTypeConfig, RuntimeConfig, SubscriptionConfig } from "../../../../crds/config.ts";
import { declaredTypes } from "../../../../crds/declared-types.ts";
import { createEventTypes } from "../../../../runtime/webhooks/history/event-types.ts";
import { compilePartners } from "../../../../runtime/webhooks/partners/partner.ts";
import { configOf, partnerConfig } from "../engine-fixture.ts";

const nowMs = Date.parse("2026-06-01T00:00:00Z");
const schema = {
  type: "object",
  required: ["id", "account"],
  properties: { id: { type: "string" }, account: { type: "string" }, note: { type: "string" } },
};
const examples = [{ id: "po_1", account: "DE02", note: "n" }];

function typeOf(type: string, ...versions: readonly Partial<EventTypeConfig["versions"][number]>[]): EventTypeConfig {
  const own = versions.length === 0 ? [{}] : versions;
  return {
    type,
    description: `About ${type}`,
    sensitive: [{ pointer: "/account", class: "financial" }],
    versions: own.map((one) => ({ version: "2026-01-01", schema, examples, state: "Active", ...one })),
  };
}

const origin = { uid: "u-1", namespace: "shop", name: "payouts", generation: 1, specDigest: "" };
const types = [
  typeOf(
    "payout.processed",
    { state: "Deprecated", deprecatedAtMs: nowMs - 2, sunsetAtMs: nowMs + 1 },
    {
      version: "2026-02-01",
    },
  ),
  typeOf("payout.created", { state: "Deprecated", deprecatedAtMs: nowMs - 2 }),
  typeOf("refund.made", { state: "Deprecated", deprecatedAtMs: nowMs - 2, sunsetAtMs: nowMs }),
  typeOf("invoice.sent"),
];
const eventCatalogs = [{ ...origin, owner: "team", contact: "#payouts", types }];

type Sub = Pick<SubscriptionConfig, "types"> & Partial<SubscriptionConfig>;

function eventTypes(partners: Readonly<Record<string, readonly Sub[]>>) {
  const configured = Object.entries(partners).map(([name, own]) => {
    const subscriptions = own.map((one, index) => ({
      name: `s${index}`,
      tenants: ["*"],
      ...(one.selects === undefined ? { producers: [] } : {}),
      ...one,
    }));
    return partnerConfig(name, "http://127.0.0.1/", { subscriptions });
  });
  const config: RuntimeConfig = { ...configOf(...configured), eventCatalogs };
  const compiled = compilePartners(config, []);
  return createEventTypes({ declared: () => declaredTypes(config), partners: () => compiled, now: () => nowMs });
}

const all = { tenants: ["*"], skipped: 0, limit: 10 };
const names = ({ items }: { readonly items: readonly { readonly type: string }[] }) => items.map(({ type }) => type);

describe("event types", () => {
  const it = eventTypes({
    acme: [{ types: ["payout.*"], tenants: ["a"] }],
    vega: [{ types: ["invoice.sent", "nobody.sends"], tenants: ["b"] }],
    zero: [{ types: ["**"], tenants: ["c"] }],
  });

  test("are all listed by name for a token without limits, subscribed to or not", () => {
    expect(names(it.page(all))).toEqual(["invoice.sent", "payout.created", "payout.processed", "refund.made"]);
  });

  test.each([
    [{ prefix: "payout." }, ["payout.created", "payout.processed"]],
    [{ prefix: "ayout" }, []],
    [{ state: "Active" as const }, ["invoice.sent", "payout.processed"]],
    [{ state: "Deprecated" as const }, ["payout.created"]],
    [{ state: "Retired" as const }, ["refund.made"]],
    [{ search: ["team", "made"] }, ["refund.made"]],
    [{ search: ["team", "none"] }, []],
  ])("are filtered by %o", (query, expected) => {
    expect(names(it.page({ ...all, ...query }))).toEqual(expected);
  });

  test("are paged", () => {
    const first = it.page({ ...all, limit: 3 });
    expect([names(first).length, first.next]).toEqual([3, 3]);
    const last = it.page({ ...all, skipped: 3, limit: 3 });
    expect([names(last), last.next]).toEqual([["refund.made"], undefined]);
  });

  test.each([
    [{ tenants: ["*"], partners: ["default/acme"] }, ["payout.created", "payout.processed"]],
    [{ tenants: ["*"], partners: ["default/vega"] }, ["invoice.sent"]],
    [{ tenants: ["*"], partners: ["default/nobody"] }, []],
    [{ tenants: ["b"], partners: ["default/acme"] }, []],
    [{ tenants: ["a"] }, ["payout.created", "payout.processed"]],
    [{ tenants: ["a", "b"] }, ["invoice.sent", "payout.created", "payout.processed"]],
    [{ tenants: ["c"] }, ["invoice.sent", "payout.created", "payout.processed", "refund.made"]],
    [{ tenants: ["x"] }, []],
    [{ tenants: [] }, []],
    [{ tenants: ["*"], partners: ["*"] }, ["invoice.sent", "payout.created", "payout.processed", "refund.made"]],
  ])("that a token with %o sees are those that its partners and tenants may get", (caller, expected) => {
    expect(names(it.page({ ...all, ...caller }))).toEqual(expected);
    const found = types
      .map(({ type }) => type)
      .filter((type) => {
        try {
          return it.find(type, caller).type === type;
        } catch {
          return false;
        }
      });
    expect(found.sort()).toEqual(expected);
  });

  test("have versions with their ends, the newest first", () => {
    expect(it.find("payout.processed", all)).toEqual({
      type: "payout.processed",
      description: "About payout.processed",
      state: "Active",
      owner: "team",
      contact: "#payouts",
      catalog: "shop/payouts",
      sensitive: [{ pointer: "/account", class: "financial" }],
      versions: [
        { version: "2026-02-01", state: "Active", schema, examples },
        {
          version: "2026-01-01",
          state: "Deprecated",
          deprecated_at: "2026-05-31T23:59:59.998Z",
          sunset_at: "2026-06-01T00:00:00.001Z",
          schema,
          examples,
        },
      ],
    });
  });

  test.each(["nobody.sends", "payout", "constructor"])("do not include %s", (type) => {
    expect(() => it.find(type, all)).toThrow(expect.objectContaining({ code: "event_type_not_found" }));
  });
});

describe("the schema that a token for a partner sees", () => {
  const hiding = (...exclude: readonly string[]) => ({ selects: { producers: [], payload: [{ exclude }] } });
  const byClass = { selects: { producers: [], payload: [{ excludeClasses: ["financial"] }] } };
  const complete = ["account", "id", "note"];
  test.each<[what: string, subscriptions: readonly Sub[], properties: readonly string[]]>([
    ["has all fields if the complete event is sent", [{ types: ["invoice.*"] }], complete],
    ["lacks excluded fields", [{ types: ["**"], ...hiding("/data/note") }], ["account", "id"]],
    ["lacks fields of excluded classes", [{ types: ["**"], ...byClass }], ["id", "note"]],
    [
      "has what one of several subscriptions sends",
      [
        { types: ["**"], tenants: ["a"], ...hiding("/data/note") },
        { types: ["**"], tenants: ["b"], ...byClass },
      ],
      complete,
    ],
    [
      "lacks what a subscription sends that never decides",
      [
        { types: ["**"], selects: { ...byClass.selects, order: 0 } },
        { types: ["invoice.sent"], selects: { producers: [], order: 1 } },
      ],
      ["id", "note"],
    ],
    [
      "has it if an earlier one depends on the content",
      [
        {
          types: ["**"],
          selects: { ...byClass.selects, matchers: [{ pointer: "/data/id", op: "Exists" }], order: 0 },
        },
        { types: ["invoice.sent"], selects: { producers: [], order: 1 } },
      ],
      complete,
    ],
    [
      "has it if an earlier one is for some producers",
      [
        { types: ["**"], selects: { ...byClass.selects, producers: ["p"], order: 0 } },
        { types: ["invoice.sent"], selects: { producers: [], order: 1 } },
      ],
      complete,
    ],
    [
      "has no fields of another type's subscription",
      [{ types: ["payout.*"] }, { types: ["invoice.*"], ...byClass }],
      ["id", "note"],
    ],
  ])("%s", (_what, subscriptions, properties) => {
    const it = eventTypes({ acme: subscriptions, other: [{ types: ["**"] }] });
    const [version] = it.find("invoice.sent", { tenants: ["*"], partners: ["default/acme"] }).versions;
    expect(Object.keys(version?.schema["properties"] ?? {}).sort()).toEqual(properties);
    // Examples show the same fields, and the class of a hidden field is not named either.
    const shown = new Set(version?.examples.flatMap((example) => Object.keys(example)));
    expect([...shown].sort()).toEqual(properties);
    expect(it.find("invoice.sent", { tenants: ["*"], partners: ["default/acme"] })).not.toHaveProperty("sensitive");
    expect(it.find("invoice.sent", { tenants: ["a"] }).versions[0]?.schema).toEqual(schema);
  });
});
