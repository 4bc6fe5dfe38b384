import type { PartnerDetail, PartnerSummary } from "../../api/partners.ts";
import { expect, test } from "vitest";
import { breakerNeeds, deadLetterNeeds, partnerNeeds, partnerPath } from "../../console/home/needs.ts";

const partner = (name: string, state: PartnerSummary["state"], reason: string | null = null): PartnerSummary => ({
  partner: `shop/${name}`,
  state,
  reason,
  missing: null,
  rejected: null,
  subscriptions: [],
  keys: [],
});

test("partners that get nothing need a person, the gravest first", () => {
  const partners = [
    partner("a", "paused"),
    partner("b", "active"),
    partner("c", "disabled"),
    partner("d", "held", "keys_missing"),
  ];
  expect(partnerNeeds(partners).map(({ state, text, to }) => [state, text, to])).toEqual([
    ["disabled", "shop/c", "/partners/shop/c"],
    ["held", "shop/d: keys missing", "/partners/shop/d"],
    ["paused", "shop/a", "/partners/shop/a"],
  ]);
});

test("an open breaker needs a person, and one that nobody knows does not", () => {
  const live = (known: boolean, breaker: PartnerDetail["live"]["breaker"]): PartnerDetail =>
    ({ ...partner(String(breaker), "active"), live: { known, breaker } }) as PartnerDetail;
  const details = [live(true, "open"), live(true, "half_open"), live(true, "closed"), live(false, "open")];
  expect(breakerNeeds(details).map(({ state }) => state)).toEqual(["open", "half_open"]);
  expect(breakerNeeds([live(true, "rate_limited")])).toMatchObject([
    { state: "rate_limited", text: "shop/rate_limited: its Retry-After pauses deliveries" },
  ]);
});

test("dead letters need a person, the most first, and lead to their list", () => {
  const count = (reason: string, number: number) => ({
    partner: "shop/a",
    reason,
    count: number,
    oldest_at: "2026-01-31T12:00:00.000Z",
    newest_at: "2026-01-31T12:00:00.000Z",
  });
  expect(deadLetterNeeds([count("status_422", 2), count("x&y=z", 1_200), count("none", 0)])).toMatchObject([
    { text: "shop/a: 1,200 dead letters, x&y=z", to: "/dead-letters?partner=shop%2Fa&reason=x%26y%3Dz" },
    { text: "shop/a: 2 dead letters, status 422", to: "/dead-letters?partner=shop%2Fa&reason=status_422" },
  ]);
});

test("the path of a partner takes its name as two segments, whatever it holds", () => {
  expect(partnerPath("shop/a")).toBe("/partners/shop/a");
  expect(partnerPath("a?b/c#d")).toBe("/partners/a%3Fb/c%23d");
});
