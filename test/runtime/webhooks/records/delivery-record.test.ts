import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  attemptNumber,
  isLater,
  deliveryHeaders,
  nextAttempt,
  parseDeliveryRecord,
  type DeliveryRecord,
} from "../../../../runtime/webhooks/records/delivery-record.ts";

const delivery: DeliveryRecord = {
  did: "did-1",
  partner: "partner-1",
  tenant: "acme",
  eventId: "e-1",
  type: "payout.processed",
  acceptedAtMs: 1_760_000_000_000,
  generation: 0,
  attempt: 1,
  hop: 0,
  attemptsBefore: 0,
};

function messageOf(given: DeliveryRecord, subject = `hg.dlr.lane.${given.partner}.${given.did}`) {
  const headers = Object.entries(deliveryHeaders(given)).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  return { subject, headers: Object.fromEntries(headers) };
}

const visible = fc.stringMatching(/^[\x21-\x7e]{1,20}$/u);
const anyRecord: fc.Arbitrary<DeliveryRecord> = fc.record(
  {
    did: fc.stringMatching(/^[\w-]{22}$/u),
    partner: fc.stringMatching(/^[\w-]{16}$/u),
    tenant: visible,
    eventId: visible,
    type: visible,
    acceptedAtMs: fc.nat(),
    generation: fc.nat(1_000),
    attempt: fc.integer({ min: 1, max: 1_000 }),
    hop: fc.nat(1_000),
    attemptsBefore: fc.nat(1_000),
    producer: visible,
    replayId: visible,
  },
  {
    requiredKeys: [
      "did",
      "partner",
      "tenant",
      "eventId",
      "type",
      "acceptedAtMs",
      "generation",
      "attempt",
      "hop",
      "attemptsBefore",
    ],
  },
);

describe("a delivery record", () => {
  test("is parsed from its headers and any of its subjects", () => {
    fc.assert(
      fc.property(anyRecord, (given) => {
        expect(parseDeliveryRecord(messageOf(given))).toEqual(given);
        expect(parseDeliveryRecord(messageOf(given, `hg.sch.${given.partner}.${given.did}`))).toEqual(given);
      }),
    );
  });

  test.each(["Hg-Event", "Hg-Tenant", "Hg-Type", "Hg-Step", "Hg-Accepted"])("is none without %s", (name) => {
    const { subject, headers } = messageOf(delivery);
    const { [name]: _left, ...rest } = headers;
    expect(parseDeliveryRecord({ subject, headers: rest })).toBeUndefined();
  });

  test("keeps its headers under these names, which stored messages carry", () => {
    expect(deliveryHeaders({ ...delivery, producer: "payments", attemptsBefore: 4, replayId: "r-1" })).toEqual({
      "Hg-Event": "e-1",
      "Hg-Tenant": "acme",
      "Hg-Type": "payout.processed",
      "Hg-Producer": "payments",
      "Hg-Step": "0:1:0",
      "Hg-Accepted": "1760000000000",
      "Hg-Before": "4",
      "Hg-Replay": "r-1",
    });
  });

  test("restarts the hops with the next attempt and counts attempts across replays", () => {
    const next = nextAttempt({ ...delivery, hop: 3, attemptsBefore: 14 });
    expect(next).toMatchObject({ attempt: 2, hop: 0, generation: 0 });
    expect(attemptNumber(next)).toBe(16);
  });

  test("comes later by generation first, then by attempt, never by hop", () => {
    expect(isLater({ ...delivery, generation: 1 }, { ...delivery, attempt: 9 })).toBe(true);
    expect(isLater({ ...delivery, attempt: 2 }, delivery)).toBe(true);
    expect(isLater({ ...delivery, hop: 5 }, delivery)).toBe(false);
    expect(isLater(delivery, delivery)).toBe(false);
  });
});
