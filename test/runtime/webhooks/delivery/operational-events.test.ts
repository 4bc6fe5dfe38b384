import { describe, expect, test } from "vitest";
import type { DeliveryRecord } from "../../../../runtime/webhooks/records/delivery-record.ts";
import { eventsOfSettlement } from "../../../../runtime/webhooks/delivery/operational-events.ts";
import { compilePartners } from "../../../../runtime/webhooks/partners/partner.ts";
import type { Settlement } from "../../../../runtime/webhooks/settlement/settle.ts";
import { configOf, partnerConfig } from "../engine-fixture.ts";

const [partner] = compilePartners(configOf(partnerConfig("one", "https://one.example/v1")), []);
if (partner === undefined) throw new Error("no partner");

const delivery: DeliveryRecord = {
  did: "d",
  generation: 2,
  attempt: 3,
  hop: 0,
  partner: partner.key,
  tenant: "acme",
  eventId: "e-1",
  type: "payout.processed",
  acceptedAtMs: 0,
  attemptsBefore: 7,
};
const told = (settlement: Settlement, fields: Partial<DeliveryRecord> = {}) =>
  eventsOfSettlement({ delivery: { ...delivery, ...fields }, partner, settlement }).map(
    ({ kind, eventId, tenant }) => `${kind} ${eventId} ${tenant}`,
  );
const retry: Settlement = { kind: "retry", atMs: 1, reason: "status_503" };

describe("the events of a settlement", () => {
  test.each<[string, Settlement, Partial<DeliveryRecord>, readonly string[]]>([
    ["none after a first failure", retry, { attempt: 1 }, []],
    ["the third failure, once", retry, { attempt: 3 }, ["failing heliograph:failing:d:2 acme"]],
    ["none after the fourth", retry, { attempt: 4 }, []],
    ["none after a success at once", { kind: "delivered" }, { attempt: 1 }, []],
    ["none after a success before the third failure", { kind: "delivered" }, { attempt: 3 }, []],
    ["a success after that", { kind: "delivered" }, { attempt: 4 }, ["recovered heliograph:recovered:d:2 acme"]],
    ["a delivery that is dead", { kind: "dead", reason: "dns" }, {}, ["exhausted heliograph:exhausted:d:2 acme"]],
    [
      "a delivery that was rejected",
      { kind: "rejected", reason: "status_404" },
      {},
      ["rejected heliograph:rejected:d:2 acme"],
    ],
    [
      "a partner that answers 410, without a tenant",
      { kind: "disabled", reason: "status_410" },
      {},
      [
        "rejected heliograph:rejected:d:2 acme",
        `disabled heliograph:disabled:${partner.key}:${partner.config.specDigest} -`,
      ],
    ],
    [
      "none for the delivery of an operational event",
      { kind: "dead", reason: "dns" },
      { type: "heliograph.delivery.exhausted" },
      [],
    ],
  ])("%s", (_sentence, settlement, fields, expected) => {
    expect(told(settlement, fields)).toEqual(expected);
  });

  test("names the event, the partner, the attempt and the reason", () => {
    const [event] = eventsOfSettlement({ delivery, partner, settlement: retry });
    expect(event?.data).toEqual({
      partner: "default/one",
      event_id: "e-1",
      event_type: "payout.processed",
      attempt: 10,
      reason: "status_503",
    });
  });
});

test("a partner gets no event about itself, whatever it subscribes to", () => {
  const facts = { type: "heliograph.partner.disabled", tenant: "-" };
  expect([partner.matches({ ...facts, about: partner.key }), partner.matches({ ...facts, about: "other" })]).toEqual([
    false,
    true,
  ]);
});
