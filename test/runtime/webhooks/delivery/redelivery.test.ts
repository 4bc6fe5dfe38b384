import { describe, expect, test } from "vitest";
import type { AttemptRecord } from "../../../../runtime/webhooks/records/attempt-records.ts";
import type { DeliveryRecord } from "../../../../runtime/webhooks/records/delivery-record.ts";
import { deliveriesWithoutTraceMax, decideRedelivery } from "../../../../runtime/webhooks/delivery/redelivery.ts";
import type { Settlement } from "../../../../runtime/webhooks/settlement/settle.ts";

const delivery: DeliveryRecord = {
  did: "did-1",
  partner: "partner-1",
  tenant: "acme",
  eventId: "e-1",
  type: "payout.processed",
  acceptedAtMs: 0,
  generation: 0,
  attempt: 2,
  hop: 0,
  attemptsBefore: 0,
};
const retry: Settlement = { kind: "retry", atMs: 5_000, reason: "status_503" };
const delivered: Settlement = { kind: "delivered" };

function made(attempt: number, settlement: Settlement, fields: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    ...delivery,
    attempt,
    partner: { uid: "u", namespace: "n", name: "p" },
    number: attempt,
    at: "2026-01-01T00:00:00.000Z",
    durationMs: 1,
    timings: { totalMs: 1 },
    outcome: { kind: "response", status: 503, headers: {}, body: "", bodyTruncated: false },
    settlement,
    pod: "pod-1",
    ...fields,
  };
}

describe("a redelivered message", () => {
  test.each([
    ["without a trace is sent", [made(1, retry)], [delivery], 2, { kind: "send" }],
    [
      "with its attempt recorded is settled without a POST",
      [made(1, retry), made(2, delivered)],
      [delivery],
      2,
      { kind: "apply", settlement: delivered },
    ],
    [
      "whose retry was recorded but not stored is settled again",
      [made(2, retry)],
      [delivery],
      2,
      { kind: "apply", settlement: retry },
    ],
    [
      "whose retry is stored is superseded",
      [made(2, retry)],
      [delivery, { ...delivery, attempt: 3 }],
      2,
      { kind: "superseded" },
    ],
    ["whose retry was made is superseded", [made(2, retry), made(3, delivered)], [delivery], 2, { kind: "superseded" }],
    [
      "from before a replay is superseded",
      [],
      [delivery, { ...delivery, generation: 1, attempt: 1 }],
      2,
      { kind: "superseded" },
    ],
    [
      "that two pods sent counts as delivered when one of them got a 2xx",
      [made(2, delivered), made(2, retry, { pod: "pod-2" })],
      [delivery],
      2,
      { kind: "apply", settlement: delivered },
    ],
    [
      "whose 410 is recorded disables no partner, which may have been edited since",
      [made(2, { kind: "disabled", reason: "status_410" })],
      [delivery],
      2,
      { kind: "apply", settlement: { kind: "rejected", reason: "status_410" } },
    ],
    ["often enough without a trace is poison", [], [delivery], deliveriesWithoutTraceMax + 1, { kind: "poison" }],
    [
      "often, but with a trace, is settled",
      [made(2, delivered)],
      [delivery],
      99,
      { kind: "apply", settlement: delivered },
    ],
  ] as const)("%s", (_sentence, attempts, live, deliveryCount, expected) => {
    expect(decideRedelivery(delivery, { attempts, live }, deliveryCount)).toEqual(expected);
  });
});
