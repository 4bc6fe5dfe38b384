import type { HealthAnswer } from "../../api/catalog.ts";
import type { Slo } from "../../api/objectives.ts";
import type { PartnerDetail, PartnerSummary } from "../../api/partners.ts";
import { expect, test } from "vitest";
import {
  breakerNeeds,
  bySeverity,
  deadLetterNeeds,
  healthNeeds,
  keyNeeds,
  metricsNeeds,
  objectiveNeeds,
  partnerNeeds,
  type Need,
} from "../../console/home/needs.ts";
import { partnerPath } from "../../console/webhooks/links.tsx";

/** A minute of an hour. */
const at = (minute: number): string => new Date(Date.UTC(2026, 0, 31, 12, minute)).toISOString();

const partner = (name: string, state: PartnerSummary["state"], reason: string | null = null): PartnerSummary => ({
  partner: `shop/${name}`,
  state,
  reason,
  missing: null,
  rejected: null,
  subscriptions: [],
  keys: [],
});

const shown = (needs: readonly Need[]) =>
  bySeverity(needs).map(({ state, subject, reason, to }) => [state, `${subject}: ${reason}`, to]);

test("partners that get nothing need attention, the most severe first", () => {
  const partners = [
    partner("a", "paused"),
    partner("b", "active"),
    partner("c", "disabled"),
    partner("d", "held", "keys_missing"),
  ];
  expect(shown(partnerNeeds(partners))).toEqual([
    ["disabled", "shop/c: the endpoint responded with 410, so nothing is sent", "/partners/shop/c"],
    ["held", "shop/d: deliveries are held: keys missing", "/partners/shop/d"],
    ["paused", "shop/a: deliveries are paused", "/partners/shop/a"],
  ]);
});

test("the health of partners has its reason and since when", () => {
  const of = (name: string, kind: string, reason: string | null, since: string | null) => ({
    ...partner(name, "active"),
    health: { kind, reason, since, until: null } as never,
  });
  const partners = [
    of("a", "healthy", null, null),
    of("b", "paused", null, at(3)),
    of("c", "circuit_open", null, at(5)),
    of("d", "held", "missing_secret", null),
    of("g", "disabled", "status_410", at(1)),
    of("h", "held", "unresolved: SecretNotFound: shop/h", at(2)),
    of("e", "failing", "3 of 3 attempts failed in the last 15 min", at(9)),
    partner("f", "paused"),
  ];
  const needs = bySeverity(healthNeeds(partners));
  expect(needs.map(({ state, subject, reason, since }) => [state, `${subject}: ${reason}`, since])).toEqual([
    ["disabled", "shop/g: the endpoint responded with 410, so nothing is sent", at(1)],
    ["circuit_open", "shop/c: the circuit breaker is open", at(5)],
    ["failing", "shop/e: 3 of 3 attempts failed in the last 15 min", at(9)],
    ["held", "shop/h: deliveries are held: the Secret shop/h is missing", at(2)],
    ["held", "shop/d: deliveries are held: missing secret", null],
    ["paused", "shop/b: deliveries are paused", at(3)],
  ]);
});

test("needs that follow from failures name the last one", () => {
  const failure = { at: at(2), status: null, reason: "connect" };
  const health = { kind: "circuit_open", reason: "5 consecutive failures", since: at(1), until: at(9) } as const;
  const healthy = { ...health, kind: "healthy", reason: null, until: null } as const;
  expect(healthNeeds([{ ...partner("a", "active"), health, last_failure: failure }])).toMatchObject([
    { reason: "the circuit breaker is open: 5 consecutive failures; last failure: could not connect to the endpoint" },
  ]);
  expect(healthNeeds([{ ...partner("a", "active"), health: healthy, last_failure: failure }])).toEqual([]);
  const paused = { ...healthy, kind: "paused" } as const;
  expect(healthNeeds([{ ...partner("a", "active"), health: paused, last_failure: failure }])).toMatchObject([
    { reason: "deliveries are paused" },
  ]);
  const expired = { partner: "shop/a", reason: "held_expired", count: 2, oldest_at: at(1), newest_at: at(2) };
  const response = { ...failure, status: 503, reason: "status_503" };
  expect(deadLetterNeeds([{ ...expired, last_failure: response }])).toMatchObject([
    { reason: "2 dead letters, held expired; last failure: HTTP 503" },
  ]);
  expect(deadLetterNeeds([{ ...expired, last_failure: null }])).toMatchObject([
    { reason: "2 dead letters, held expired" },
  ]);
  const unknown = { ...failure, reason: "new_reason" };
  expect(deadLetterNeeds([{ ...expired, last_failure: unknown }])).toMatchObject([
    { reason: "2 dead letters, held expired; last failure: new reason" },
  ]);
});

test("a pause by Retry-After is named once, with its end", () => {
  const health = { kind: "rate_limited", reason: "Retry-After", since: at(1), until: at(9) } as const;
  expect(healthNeeds([{ ...partner("a", "active"), health }])).toMatchObject([
    { reason: "a Retry-After of the endpoint pauses deliveries", since: at(1), until: at(9) },
  ]);
});

test("a signing key that is about to expire needs attention, sooner if another one stays valid", () => {
  const nowMs = Date.parse(at(0));
  const inHours = (hours: number): string => new Date(nowMs + hours * 3_600_000).toISOString();
  const of = (name: string, hours: number, ...others: readonly (number | null)[]): PartnerSummary => ({
    ...partner(name, "active"),
    keys: [
      ...others.map((end, index) => ({ id: `other-${index}`, not_after: end === null ? null : inHours(end) })),
      { id: "old", not_after: inHours(hours) },
    ],
    next_key_to_expire: { id: "old", not_after: inHours(hours) },
  });
  const partners = [of("a", 47, null), of("b", 49, null), of("c", 49), of("d", 169), of("e", 100, -1), of("f", 3, 900)];
  expect(bySeverity(keyNeeds(partners, nowMs)).map(({ subject, reason, since }) => [subject, reason, since])).toEqual([
    ["shop/f", "the signing key old expires; other-0 stays valid", inHours(3)],
    ["shop/a", "the signing key old expires; other-0 stays valid", inHours(47)],
    ["shop/c", "the signing key old expires, and deliveries are held afterwards", inHours(49)],
    ["shop/e", "the signing key old expires, and deliveries are held afterwards", inHours(100)],
  ]);
  expect(keyNeeds([partner("g", "active")], nowMs)).toEqual([]);
});

test("an open breaker needs attention, and an unknown one does not", () => {
  const live = (known: boolean, breaker: PartnerDetail["live"]["breaker"]): PartnerDetail =>
    ({ ...partner(String(breaker), "active"), live: { known, breaker, oldest_due_at: at(0) } }) as PartnerDetail;
  const details = [live(true, "half_open"), live(true, "open"), live(true, "closed"), live(false, "open")];
  expect(bySeverity(breakerNeeds(details))).toMatchObject([
    { state: "open", since: at(0) },
    { state: "half_open", since: at(0) },
  ]);
  expect(breakerNeeds([live(true, "rate_limited")])).toMatchObject([
    { state: "rate_limited", reason: "a Retry-After of the endpoint pauses deliveries" },
  ]);
});

test("dead letters need attention, a line for each partner, and link to their list", () => {
  const count = (name: string, reason: string, number: number, minute: number) => ({
    partner: name,
    reason,
    count: number,
    oldest_at: at(minute),
    newest_at: at(50),
  });
  const counts = [
    count("shop/a", "status_422", 1, 2),
    count("shop/a", "x&y=z", 1_200, 3),
    count("shop/a", "none", 0, 0),
    count("shop/b", "status_422", 1, 9),
    ...["r1", "r2", "r3", "r4", "r5"].map((reason) => count("shop/c", reason, 2, 20)),
  ];
  expect(bySeverity(deadLetterNeeds(counts))).toMatchObject([
    {
      reason: "1,201 dead letters, 1,200 x&y=z, 1 status 422",
      since: at(2),
      to: "/dead-letters?partner=shop%2Fa",
    },
    { reason: "1 dead letter, status 422", since: at(9), to: "/dead-letters?partner=shop%2Fb&reason=status_422" },
    { reason: "10 dead letters, 2 r1, 2 r2, 2 r3, 2 more" },
  ]);
});

test("burning objectives and failing stores need attention", () => {
  const slo = (name: string, status: Slo["status"], remaining = 0.02) =>
    ({
      name,
      status,
      domain: "login",
      tenant: "acme",
      regions: [],
      error_budget: { total: 0.1, remaining },
    }) as Pick<Slo, "name"> as Slo;
  expect(shown(objectiveNeeds([slo("x", "ok"), slo("y", "increasing"), slo("z", "critical", -0.03)]))).toEqual([
    ["critical", "z (acme): error budget burning, overspent by 30%", "/slos/z?domain=login&tenant=acme"],
    ["increasing", "y (acme): error budget burning, 20% left", "/slos/y?domain=login&tenant=acme"],
  ]);
  const since = new Map([["/slos/y?domain=login&tenant=acme", at(7)]]);
  expect(objectiveNeeds([slo("x", "ok"), slo("y", "increasing")], since)).toMatchObject([{ since: at(7) }]);
  const health = {
    status: "degraded",
    stores: [{ name: "eu", region: "eu", state: "failing" }],
  } as unknown as HealthAnswer;
  expect(metricsNeeds(health)).toMatchObject([{ state: "degraded", reason: "failing stores: eu" }]);
  expect(metricsNeeds({ ...health, status: "ok" })).toEqual([]);
});

test("the path of a partner takes its name as two segments, whatever it holds", () => {
  expect(partnerPath("shop/a")).toBe("/partners/shop/a");
  expect(partnerPath("a?b/c#d")).toBe("/partners/a%3Fb/c%23d");
});
