import { describe, expect, test } from "vitest";
import type { SubscriptionConfig } from "../../../crds/config.ts";
import { createMatchChanges, idsPerPartnerMax, noMatches } from "../../../runtime/preview/match-changes.ts";
import { compilePartners } from "../../../runtime/webhooks/partners/partner.ts";
import { configOf, partnerConfig } from "../webhooks/engine-fixture.ts";

const wants = (...types: readonly string[]): readonly SubscriptionConfig[] => [
  { name: "all", types, tenants: ["*"], producers: [] },
];
const one = (...types: readonly string[]) =>
  partnerConfig("one", "https://one.example/hooks", { subscriptions: wants(...types) });
const two = (...types: readonly string[]) =>
  partnerConfig("two", "https://two.example/hooks", { subscriptions: wants(...types) });
const before = configOf(one("payout.*"), two("**"));
const after = configOf(one("payout.*", "kyc.*"), two("payout.*"));
const everyone = (): boolean => true;

describe("routing before and after an edit", () => {
  test("names who would get an event and who no longer", () => {
    const changes = createMatchChanges(before, after, everyone);
    expect(changes.of({ type: "kyc.done", tenant: "acme" })).toMatchObject({
      gained: ["default/one"],
      lost: ["default/two"],
    });
    expect(changes.of({ type: "payout.done", tenant: "acme" })).toMatchObject({ gained: [], lost: [] });
  });

  test("counts deliveries, unrouted events and the first ids of each partner", () => {
    const changes = createMatchChanges(before, after, everyone);
    const tally = noMatches();
    const take = (eventId: string, type: string) => changes.take({ eventId, type, tenant: "acme" });
    for (let index = 0; index < idsPerPartnerMax + 5; index += 1) take(`k-${index}`, "kyc.done");
    take("p-1", "payout.done");
    changes.addTo(tally);
    take("b-1", "bet.settled");
    changes.addTo(tally);
    changes.addTo(tally);
    expect(tally).toMatchObject({ events: 17, before: 18, after: 17, unroutedBefore: 0, unroutedAfter: 1 });
    const ids = Array.from({ length: idsPerPartnerMax }, (_, index) => `k-${index}`);
    expect(tally.partners).toEqual({
      "default/one": { before: 1, after: 16, gained: 15, lost: 0, gainedIds: ids, lostIds: [] },
      "default/two": { before: 17, after: 1, gained: 0, lost: 16, gainedIds: [], lostIds: ids },
    });
  });

  test("shows a caller only the partners that it may see", () => {
    const changes = createMatchChanges(before, after, (label) => label === "default/one");
    const tally = noMatches();
    changes.take({ eventId: "k-1", type: "kyc.done", tenant: "acme" });
    changes.addTo(tally);
    expect(Object.keys(tally.partners)).toEqual(["default/one"]);
    expect(tally).toMatchObject({ before: 0, after: 1, unroutedBefore: 1, unroutedAfter: 0 });
  });

  test("tells events of one type apart by their content if matchers decide", () => {
    const paid = (value: string) => {
      const selects = { producers: [], matchers: [{ pointer: "/data/state", op: "Equal" as const, value }] };
      const subscriptions = [{ name: "paid", types: ["payout.*"], tenants: ["*"], selects }];
      return configOf(partnerConfig("one", "https://one.example/hooks", { subscriptions }));
    };
    const changes = createMatchChanges(paid("paid"), paid("open"), everyone);
    const tally = noMatches();
    for (const [eventId, state] of [
      ["1", "paid"],
      ["2", "open"],
      ["3", "lost"],
      ["4", "open"],
    ] as const) {
      const body = Buffer.from(JSON.stringify({ data: { state } }));
      changes.take({ eventId, type: "payout.done", tenant: "acme", body });
    }
    changes.addTo(tally);
    expect(tally).toMatchObject({ events: 4, before: 1, after: 2, unroutedBefore: 3, unroutedAfter: 2 });
    expect(tally.partners["default/one"]).toMatchObject({ gainedIds: ["2", "4"], lostIds: ["1"] });
  });

  test("tells pings apart by their partner", () => {
    const changes = createMatchChanges(configOf(one("a.b")), configOf(one("a.b"), two("a.b")), everyone);
    const ping = { type: "heliograph.ping", tenant: "acme" };
    const keys = compilePartners(configOf(one("a.b"), two("a.b")), []).map(({ key }) => key);
    const gained = keys.map((only) => changes.of({ ...ping, only }).gained);
    expect(gained).toEqual([[], ["default/two"]]);
  });

  test("never sends an operational event to the partner that it is about", () => {
    const [about] = [configOf(one("**"))];
    const changes = createMatchChanges(configOf(), about, everyone);
    const event = { type: "heliograph.delivery.dead", tenant: "acme" };
    expect(changes.of(event).gained).toEqual(["default/one"]);
  });
});
