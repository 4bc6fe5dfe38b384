import { describe, expect, test } from "vitest";
import { inactiveReason, pingTenant } from "../../../../runtime/webhooks/ping/ping.ts";
import { compilePartners } from "../../../../runtime/webhooks/partners/partner.ts";
import { createRoutingTable } from "../../../../runtime/webhooks/partners/configured-partners.ts";
import { eventHeaders, readEvent } from "../../../../runtime/webhooks/records/event-record.ts";
import { configOf, partnerConfig } from "../engine-fixture.ts";

describe("the tenant of a ping", () => {
  test.each<[string, readonly string[], readonly string[], string | undefined, string | undefined]>([
    ["is the first that both name", ["a", "b", "c"], ["c", "b"], undefined, "b"],
    ["is the partner's for a caller of all", ["b", "a"], ["*"], undefined, "b"],
    ["is the caller's for a partner of all", ["*"], ["c", "d"], undefined, "c"],
    ["is required when neither names one", ["*"], ["*"], undefined, undefined],
    ["is none that only one of them names", ["a"], ["b"], undefined, undefined],
    ["is the requested one", ["a", "b"], ["*"], "b", "b"],
    ["may be any of a partner and a caller of all", ["*"], ["*"], "z", "z"],
    ["is not one that the token lacks", ["*"], ["a"], "z", undefined],
    ["is not one that the partner does not get", ["a"], ["*"], "z", undefined],
    ["may be none, for a caller without a tenant", ["*"], ["-"], undefined, "-"],
  ])("%s", (_, subscribed, allowed, requested, tenant) => {
    expect(pingTenant(subscribed, allowed, requested)).toBe(tenant);
  });
});

describe("a partner gets no ping", () => {
  const active = { state: "active", held: undefined, hasKey: true, isFull: false } as const;

  test.each([
    ["while it is held", { ...active, state: "held", held: "not_permitted" }, /held \(not_permitted\)/u],
    ["after a 410", { ...active, state: "disabled" }, /410/u],
    ["while it is paused", { ...active, state: "paused" }, /paused/u],
    ["without a valid key", { ...active, hasKey: false }, /No signing key/u],
    ["while its backlog is full", { ...active, isFull: true }, /backlog/u],
  ] as const)("%s", (_, facts, reason) => {
    expect(inactiveReason(facts)).toMatch(reason);
  });

  test("for no other reason", () => {
    expect(inactiveReason(active)).toBeUndefined();
  });
});

describe("the stored event of a ping", () => {
  const envelope = { eventId: "e", type: "heliograph.ping", version: "2026-01-01", ts: "", tenant: "acme" };
  const message = (headers: Readonly<Record<string, string | undefined>>) => ({
    subject: "hg.evt.acme.hash",
    seq: 1,
    storedAtMs: 5,
    headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<
      string,
      string
    >,
    data: Buffer.from("{}"),
  });

  test("has no header of its type, without which older versions route nothing", () => {
    const headers = eventHeaders(envelope, "n", { only: "key" });
    expect(headers["Hg-Type"]).toBeUndefined();
    expect(readEvent(message(headers))).toMatchObject({
      eventId: "e",
      type: "heliograph.ping",
      only: "key",
      nonce: "n",
    });
  });

  test("reaches its partner alone, whatever the subscriptions are", () => {
    const url = "https://one.example/v1";
    const nothing = { subscriptions: [{ name: "s", types: ["other.*"], tenants: ["luna"], producers: [] }] };
    const all = { subscriptions: [{ name: "s", types: ["**"], tenants: ["*"], producers: [] }] };
    const partners = compilePartners(
      configOf(
        partnerConfig("one", url, nothing),
        partnerConfig("two", url, all),
        partnerConfig("three", url, { withdrawn: all.subscriptions, ...nothing }),
      ),
      [],
    );
    const table = createRoutingTable(partners);
    const facts = { type: "heliograph.ping", tenant: "acme" };
    for (const { key } of partners) {
      const event = { ...facts, only: key };
      expect(table.partnersFor(event).map((partner) => partner.key)).toEqual([key]);
      expect(table.routeOf(event).denied).toEqual([]);
    }
    expect(table.partnersFor({ ...facts, only: "nobody" })).toEqual([]);
  });
});
