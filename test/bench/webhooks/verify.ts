import { createSecretKey, generateKeyPairSync } from "node:crypto";
import type { SigningScheme } from "../../../crds/signing-key.ts";
import { verifyDelivery } from "../../../runtime/recipient/verify-delivery.ts";
import { deliveryHeaders } from "../../../runtime/webhooks/signing/signed-request.ts";
import { signHmacV1, verifyHmacV1 } from "../../../runtime/webhooks/signing/hmac-v1.ts";
import type { SigningKey, VerificationKey } from "../../../runtime/webhooks/signing/keys.ts";
import type { Bench } from "../harness/bench.ts";
import { quantile, type Measured } from "../harness/figures.ts";
import type { WebhookStage } from "./stage.ts";

const sentAtMs = Date.UTC(2026, 0, 1);
const secret = createSecretKey(Buffer.from("a key of at least thirty-two bytes, for benches"));
const eventBytes = 4_096;

/** Verifying a signature over 512 bytes, and what the recipients' kit does with a delivery of 4 KiB, with two keys. */
export function verify(_stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const rows: readonly (readonly [name: string, verifies: () => boolean, atMostMs: number])[] = [
    ["verifying a signature over 512 B with two keys: p95", signatureCheck(), 2],
    ["kit, delivery of 4 KiB, two keys, HMAC v1: p95", deliveryCheck("HmacV1"), 0.2],
    ["kit, delivery of 4 KiB, two keys, Standard Webhooks: p95", deliveryCheck("StandardWebhooks"), 0.2],
    ["kit, delivery of 4 KiB, two keys, RFC 9421 with Ed25519: p95", deliveryCheck("HttpMessageSignatures"), 2],
  ];
  return Promise.resolve(
    rows.map(([name, verifies, atMost]) => ({ name, unit: "ms", values: p95s(verifies, bench), bar: { atMost } })),
  );
}

/** The 95th percentile of each round, after a round that only warms up. */
function p95s(verifies: () => boolean, bench: Bench): readonly number[] {
  const timed = (): number => {
    const startedMs = performance.now();
    if (!verifies()) throw new Error("a good signature was refused");
    return performance.now() - startedMs;
  };
  const count = bench.isSmall ? 100 : 10_000;
  Array.from({ length: count }, timed);
  return Array.from({ length: bench.rounds }, () => quantile(Array.from({ length: count }, timed), 0.95));
}

function signatureCheck(): () => boolean {
  const timestamp = new Date(sentAtMs).toISOString();
  const request = { timestamp, method: "POST", path: "/webhooks/v1/payout", body: Buffer.alloc(512, "x") };
  const received = { ...request, signature: signHmacV1(secret, request) };
  const keys = ["new", "old"].map((id) => ({ id, secret }));
  return () => verifyHmacV1(keys, received, sentAtMs).ok;
}

function deliveryCheck(scheme: SigningScheme): () => boolean {
  const [signing, keys] = scheme === "HttpMessageSignatures" ? publicKeyPair() : sharedKeys();
  const url = new URL("https://partner.example.com/webhooks/v1/payout");
  const event = { event_id: "e", type: "payout.processed", version: "2026-01-01", ts: "2026-01-01T00:00:00.000Z" };
  const filling = "x".repeat(eventBytes - JSON.stringify({ ...event, attempt: 1, data: { text: "" } }).length);
  const body = Buffer.from(JSON.stringify({ ...event, attempt: 1, data: { text: filling } }));
  const common = { eventId: "e", attempt: 1, producer: "payments", version: "0.0.0", endpointHeaders: {} };
  const headers = deliveryHeaders(scheme, { ...common, keys: [signing], url, body, sentAtMs });
  const lower = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const given = { host: url.host, ...Object.fromEntries(lower) };
  const delivery = { method: "POST", target: url.pathname, headers: given, body };
  return () => verifyDelivery(delivery, keys, sentAtMs, scheme).ok;
}

function sharedKeys(): [SigningKey, readonly VerificationKey[]] {
  const other = createSecretKey(Buffer.alloc(32));
  const keys = [
    { id: "new", secret: other },
    { id: "old", secret },
  ];
  return [{ algorithm: "hmac-sha256", secret }, keys];
}

function publicKeyPair(): [SigningKey, readonly VerificationKey[]] {
  const [{ publicKey, privateKey }, other] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
  const keys = [
    { id: "new", publicKey: other.publicKey },
    { id: "old", publicKey },
  ];
  return [{ algorithm: "ed25519", privateKey, keyId: "old" }, keys];
}
