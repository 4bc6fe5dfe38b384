import { expect, test } from "vitest";
import { PartnerTimeline, wants, type Desired, type Routing, type Seen, type Expectation } from "./model.ts";

const payouts = { types: ["payout.*"], tenants: ["lumen", "vega"] };
const logins = { types: ["login.*"], tenants: ["lumen"] };
const good: Desired = {
  exists: true,
  subscription: payouts,
  granted: ["lumen", "north", "vega"],
  isReadable: true,
  generation: 1,
  keys: ["k1"],
};
const seenAs = (subscription: Exclude<Routing, "out">, changes: Partial<Seen> = {}): Seen => ({
  generation: 1,
  subscription,
  keys: ["k1"],
  isPlain: true,
  ...changes,
});
const payoutOf = (tenant: string) => ({ type: "payout.created", tenant });

/** A partner that began at 0 and is in force since 100. */
function inForce(): PartnerTimeline {
  const timeline = new PartnerTimeline("uid", "pay/acme");
  timeline.began(0, good);
  timeline.observed(100, seenAs(payouts));
  return timeline;
}

type Row = readonly [
  what: string,
  timeline: () => PartnerTimeline,
  tenant: string,
  fromMs: number,
  toMs: number,
  expectation: Expectation,
];

/** The partner after one more change, which began at 200 and is in force since 300. */
function changed(change: Partial<Desired>, seen: Seen | undefined): PartnerTimeline {
  const timeline = inForce();
  timeline.began(200, { ...good, ...change });
  timeline.observed(300, seen);
  return timeline;
}

const unreadable = (): PartnerTimeline => changed({ isReadable: false }, seenAs(payouts, { isPlain: false }));
const withdrawn = (): PartnerTimeline =>
  changed({ granted: ["lumen"] }, seenAs({ ...payouts, tenants: ["lumen"] }, { isPlain: false }));

const rows: readonly Row[] = [
  ["before the object was there", inForce, "lumen", -20, -10, "must_not"],
  ["while the object is being made", inForce, "lumen", -20, 50, "either"],
  ["once the object is in force", inForce, "lumen", 100, 150, "must"],
  ["of a tenant that it does not name", inForce, "north", 100, 150, "must_not"],
  [
    "that is routed until an edit begins",
    () => changed({ subscription: logins, generation: 2 }, seenAs(logins, { generation: 2 })),
    "lumen",
    150,
    199,
    "must",
  ],
  [
    "during an edit",
    () => changed({ subscription: logins, generation: 2 }, seenAs(logins, { generation: 2 })),
    "lumen",
    150,
    250,
    "either",
  ],
  [
    "after an edit",
    () => changed({ subscription: logins, generation: 2 }, seenAs(logins, { generation: 2 })),
    "lumen",
    300,
    400,
    "must_not",
  ],
  [
    "after an edit that no pod runs yet",
    () => changed({ subscription: logins, generation: 2 }, seenAs(payouts)),
    "lumen",
    300,
    400,
    "either",
  ],
  ["while its Secret is away", unreadable, "lumen", 210, 400, "must"],
  ["of a tenant that was withdrawn", withdrawn, "vega", 300, 400, "must_not"],
  ["of a tenant beside the one that was withdrawn", withdrawn, "lumen", 210, 400, "must"],
  ["while the object is being deleted", () => changed({ exists: false }, undefined), "lumen", 250, 290, "either"],
  ["after the object was deleted", () => changed({ exists: false }, undefined), "lumen", 300, 400, "must_not"],
];

test.each(rows)("an event %s is owed as the contract says", (_what, timeline, tenant, fromMs, toMs, expectation) => {
  expect(timeline().expectation(payoutOf(tenant), fromMs, toMs)).toBe(expectation);
});

test("a partner that never had a Secret is owed its events, one that never was permitted is not", () => {
  const [keyless, stranger] = [new PartnerTimeline("a", "pay/a"), new PartnerTimeline("b", "pay/b")];
  keyless.began(0, { ...good, isReadable: false });
  keyless.observed(100, seenAs(payouts, { isPlain: false }));
  stranger.began(0, { ...good, granted: [] });
  stranger.observed(100, undefined);
  expect(keyless.expectation(payoutOf("lumen"), 100, 200)).toBe("must");
  expect(stranger.expectation(payoutOf("lumen"), 100, 200)).toBe("must_not");
});

test("a partner that was held for its Secret before its right was withdrawn may stay held when the Secret comes", () => {
  const timeline = new PartnerTimeline("a", "pay/a");
  timeline.began(0, { ...good, isReadable: false });
  timeline.observed(100, seenAs(payouts, { isPlain: false }));
  timeline.began(200, { ...good, isReadable: false, granted: ["lumen"] });
  timeline.began(250, { ...good, granted: ["lumen"] });
  timeline.observed(5_000, seenAs({ ...payouts, tenants: ["lumen"] }, { isPlain: false }));
  timeline.observed(9_000, seenAs({ ...payouts, tenants: ["lumen"] }, { isPlain: false }));
  expect(timeline.isSettled).toBe(true);
  expect(timeline.expectation(payoutOf("vega"), 9_000, 9_100)).toBe("must_not");
});

test("a deletion that overtakes an edit is not in force before the shards were quiet", () => {
  const timeline = inForce();
  timeline.began(200, { ...good, generation: 2 });
  timeline.began(210, { ...good, exists: false });
  timeline.observed(300, undefined);
  expect(timeline.isSettled).toBe(false);
  timeline.observed(2_800, undefined);
  expect(timeline.isGone).toBe(true);
});

test("an edit is not in force before its generation is known", () => {
  const timeline = inForce();
  const change = timeline.began(200, { ...good, generation: Number.POSITIVE_INFINITY });
  timeline.observed(250, seenAs(payouts, { generation: 2 }));
  expect(timeline.isSettled).toBe(false);
  change.applied(2);
  timeline.observed(300, seenAs(payouts, { generation: 2 }));
  expect(timeline.isSettled).toBe(true);
});

test("a key that was taken out ends when every pod runs the shards without it", () => {
  const timeline = inForce();
  timeline.began(200, { ...good, keys: ["k2", "k1"], generation: 2 });
  timeline.observed(300, seenAs(payouts, { keys: ["k2", "k1"], generation: 2 }));
  timeline.began(400, { ...good, keys: ["k2"], generation: 3 });
  expect(timeline.keyEndedMs("k1")).toBeUndefined();
  timeline.observed(500, seenAs(payouts, { keys: ["k2"], generation: 3 }));
  expect([timeline.keyEndedMs("k1"), timeline.keyEndedMs("k2"), timeline.keyEndedMs("k9")]).toEqual([
    500,
    undefined,
    0,
  ]);
});

test("a subscription covers its types and tenants", () => {
  expect(wants(payouts, payoutOf("vega"))).toBe(true);
  expect(wants(payouts, { type: "login.done", tenant: "vega" })).toBe(false);
  expect(wants({ types: ["**"], tenants: ["vega"] }, { type: "login.done", tenant: "vega" })).toBe(true);
});
