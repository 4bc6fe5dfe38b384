import type { EventSummary } from "../../../api/histories.ts";
import { expect, test } from "vitest";
import { eventColumns } from "../../../cli/webhooks/event-forms.ts";

const since = "2026-01-31T12:00:00.000Z";
const until = "2026-01-31T12:05:00.000Z";
const delivery = { partner: "shop/acme", state: "in_delivery", reason: null };
const column = eventColumns.find(({ title }) => title === "WAITING");
const waitingOf = (...deliveries: readonly object[]): unknown =>
  column?.cell({
    event_id: "e",
    type: "t",
    tenant: "-",
    accepted_at: since,
    routed_at: null,
    deliveries,
  } as EventSummary);

test("a wide list of events says which deliveries wait, and why", () => {
  expect(column?.isWide).toBe(true);
  const paused = { ...delivery, waiting: { kind: "breaker", reason: "status_503", since, until } };
  const turn = { ...delivery, partner: "shop/zeta", waiting: { kind: "turn", reason: null, since: null } };
  const ended = { ...delivery, partner: "shop/done", state: "delivered", waiting: null };
  expect(waitingOf(paused, ended, turn)).toBe(
    `shop/acme=breaker (status_503, since ${since}, until ${until}); shop/zeta=turn`,
  );
});

test("a wide list of events says that a time is the latest", () => {
  const waiting = { kind: "paused", reason: null, since, since_at_latest: true, until: null };
  expect(waitingOf({ ...delivery, waiting })).toBe(`shop/acme=paused (since ${since} or earlier)`);
});

test("a wide list has nothing to say about ended deliveries, and about servers of earlier versions", () => {
  expect(waitingOf()).toBeUndefined();
  expect(waitingOf({ ...delivery, waiting: null })).toBeUndefined();
  expect(waitingOf(delivery)).toBeUndefined();
});
