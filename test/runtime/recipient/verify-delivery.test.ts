import { describe, expect, test } from "vitest";
import { verifyDelivery } from "../../../runtime/recipient/verify-delivery.ts";
import { event, secret, sentAtMs, signedDelivery } from "./signed-delivery.ts";

const keys = [{ id: "k1", secret }];

describe("verifying a delivery", () => {
  test("gives the event, with fields that this version does not know (Webhook Event Delivery §2.1)", () => {
    const newer = { ...event, sequence: 7 };
    expect(verifyDelivery(signedDelivery(newer), keys, sentAtMs)).toEqual({ ok: true, keyId: "k1", event: newer });
  });

  test("takes the path without its query (Webhook Event Delivery §5)", () => {
    const delivery = signedDelivery(event, {}, "/webhooks/v1/payout?route=1");
    expect(verifyDelivery(delivery, keys, sentAtMs)).toMatchObject({ ok: true });
  });

  test("does without X-Event-Id, since the body is signed", () => {
    expect(verifyDelivery(signedDelivery(event, { "x-event-id": undefined }), keys, sentAtMs)).toMatchObject({
      ok: true,
    });
  });

  test.each([
    ["no signature", signedDelivery(event, { "x-signature": undefined }), "signature_missing"],
    ["a repeated signature", signedDelivery(event, { "x-signature": ["v1=a", "v1=b"] }), "signature_missing"],
    ["no timestamp", signedDelivery(event, { "x-timestamp": undefined }), "timestamp_missing"],
    ["another body", { ...signedDelivery(), body: Buffer.from("{}") }, "signature_mismatch"],
    ["another path", { ...signedDelivery(), target: "/webhooks/v1/other" }, "signature_mismatch"],
    ["another event id in the header", signedDelivery(event, { "x-event-id": "evt_2" }), "event_id_differs"],
    ["a body that is no JSON", signedDelivery("{"), "body_malformed"],
    ["a body that is no event", signedDelivery({ ...event, type: 1 }), "body_malformed"],
    ["a body that is null", signedDelivery("null"), "body_malformed"],
    ["an attempt that is no integer", signedDelivery({ ...event, attempt: "1" }), "body_malformed"],
    ["an empty event id", signedDelivery({ ...event, event_id: "" }), "body_malformed"],
  ])("refuses %s", (_, delivery, fault) => {
    expect(verifyDelivery(delivery, keys, sentAtMs)).toEqual({ ok: false, fault });
  });

  test("refuses what is older than the window before it reads anything (Webhook Event Delivery §5)", () => {
    const verdict = verifyDelivery(signedDelivery("{"), keys, sentAtMs + 300_001);
    expect(verdict).toEqual({ ok: false, fault: "timestamp_outside_window" });
  });
});
