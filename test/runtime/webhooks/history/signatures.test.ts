import { describe, expect, test } from "vitest";
import type { AttemptRecord } from "../../../../runtime/webhooks/records/attempt-records.ts";
import { type HistoryView, rebuiltBodies, signaturesOf } from "../../../../runtime/webhooks/history/history-view.ts";
import type { KeptSignature } from "../../../../runtime/webhooks/signing/signed-request.ts";

const event = { body: Buffer.from('{"event_id":"e-1"}') };
const hmac: KeptSignature = { scheme: "HmacV1", keys: ["k1"], url: "/secret-path", headers: { "X-Signature": "v1=s" } };
const standard: KeptSignature = { scheme: "StandardWebhooks", keys: ["k2"], headers: { "webhook-signature": "v1,s" } };

function record(number: number, signed?: KeptSignature): AttemptRecord {
  return {
    did: "did-1",
    generation: 0,
    attempt: number,
    hop: 0,
    eventId: "e-1",
    tenant: "acme",
    partner: { uid: "u", namespace: "shop", name: "one" },
    number,
    at: new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString(),
    durationMs: 12,
    timings: { totalMs: 12 },
    outcome: { kind: "response", status: 200, headers: {}, body: "", bodyTruncated: false },
    settlement: { kind: "delivered" },
    pod: "pod-1",
    ...(signed === undefined ? {} : { signed }),
  };
}

const shownOf = (one: AttemptRecord, view: HistoryView, body = event) =>
  signaturesOf(rebuiltBodies(body, [one]), view)(one);

describe("the signature of an attempt", () => {
  test.each<[string, KeptSignature, HistoryView, boolean]>([
    ["with a URL to the partner", hmac, { partners: ["shop/one"] }, true],
    ["with a URL to an administrator", hmac, { showsInternals: true }, true],
    ["with a URL to a token of every partner", hmac, { partners: ["*"] }, false],
    ["with a URL to a token of a tenant", hmac, {}, false],
    ["without a URL to a token of a tenant", standard, {}, true],
  ])("shows its text %s: %#", (_, signed, view, isShown) => {
    const shown = shownOf(record(1, signed), view);
    expect(shown?.canonical_reason).toBe(isShown ? null : "url_hidden");
    expect(shown?.canonical?.includes("\nPOST\n/***\n")).toBe(!isShown);
    expect(shown?.key_ids).toEqual(signed.keys);
    expect(JSON.stringify(shown).includes("secret-path")).toBe(isShown && signed.url !== undefined);
  });

  test("hides host and path of a message signature, and keeps its other lines", () => {
    const input = '("@method" "@authority" "@path" "@query" "content-digest");created=1767225601;keyid="k3"';
    const headers = { "Signature-Input": `sig1=${input}`, Signature: "sig1=:AA==:" };
    const url = "https://secret.example/secret-path?***";
    const message: KeptSignature = { scheme: "HttpMessageSignatures", keys: ["k3"], url, headers };
    const hidden = shownOf(record(1, message), {});
    const known = shownOf(record(1, message), { showsInternals: true });
    expect(JSON.stringify(hidden)).not.toContain("secret");
    expect([hidden?.canonical_reason, known?.canonical_reason]).toEqual(["url_hidden", null]);
    expect(known?.canonical).toContain("secret.example");
    expect(hidden?.canonical).toBe(
      known?.canonical?.replace("secret.example", "hidden.invalid").replace("/secret-path", "/***"),
    );
  });

  test("is null for a record without one", () => {
    expect(shownOf(record(1), { showsInternals: true })).toBeNull();
  });

  test("has its text up to 16 KiB", () => {
    const prefix = "e-1.1767225601.".length;
    const bodyOf = (bytes: number) => {
      const rest = '{"a":"","attempt":1}'.length;
      return { body: Buffer.from(`{"a":"${"x".repeat(bytes - prefix - rest)}"}`) };
    };
    expect(shownOf(record(1, standard), {}, bodyOf(16_384))?.canonical).toHaveLength(16_384);
    expect(shownOf(record(1, standard), {}, bodyOf(16_385))).toMatchObject({
      canonical: null,
      canonical_reason: "too_long",
    });
  });

  test("has its text for the newest 64 attempts alone, and its keys for all", () => {
    const records = Array.from({ length: 100 }, (_, index) => record(index + 1, standard));
    const shown = records.map(signaturesOf(rebuiltBodies(event, records), {}));
    expect(shown.map((one) => one?.canonical === null)).toEqual(records.map(({ number }) => number <= 36));
    expect(shown[0]?.canonical_reason).toBe("older_attempt");
    expect(shown.every((one) => one?.key_ids[0] === "k2")).toBe(true);
  });

  test("of a scheme that this version lacks has keys and no text", () => {
    const later = { ...standard, scheme: "Later" as KeptSignature["scheme"] };
    expect(shownOf(record(1, later), {})).toEqual({
      scheme: "Later",
      key_ids: ["k2"],
      canonical: null,
      canonical_reason: "unknown_scheme",
      headers: { "webhook-signature": "v1,s" },
    });
  });
});
