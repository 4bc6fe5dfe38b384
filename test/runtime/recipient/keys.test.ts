import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readSigningKey, type SigningScheme } from "../../../crds/signing-key.ts";
import { publicKey, publicKeys, sharedKey, verifyDelivery } from "../../../runtime/recipient/verify-delivery.ts";
import { deliveryHeaders } from "../../../runtime/webhooks/signing/signed-request.ts";
import {
  publicKeySet,
  thumbprintOf,
  signingKeyOf,
  type SigningKey,
  type VerificationKey,
} from "../../../runtime/webhooks/signing/keys.ts";
import type { IncomingRequest } from "../../../runtime/webhooks/signing/verification-result.ts";
import { event, sentAtMs } from "./signed-delivery.ts";

/** A key of the sender, and what a partner makes of what it was given. */
interface KeyPair {
  readonly signing: SigningKey;
  readonly partner: VerificationKey;
}

function sharedPair(scheme: SigningScheme, text: string): KeyPair {
  const read = readSigningKey(scheme, Buffer.from(text));
  if (!("secret" in read)) throw new Error(`${text} is no shared key`);
  return { signing: read, partner: sharedKey(text, text, scheme) };
}

const pem = { type: "pkcs8", format: "pem" } as const;

function privatePair(scheme: SigningScheme, kind: "ed25519" | "P-256" | "P-384"): KeyPair {
  const pair = kind === "ed25519" ? generateKeyPairSync(kind) : generateKeyPairSync("ec", { namedCurve: kind });
  const read = readSigningKey(scheme, Buffer.from(pair.privateKey.export(pem)));
  if ("fault" in read) throw new Error(read.fault.message);
  const spki = pair.publicKey.export({ type: "spki", format: "pem" }).toString();
  return { signing: signingKeyOf(read), partner: publicKey(thumbprintOf(pair.publicKey), spki) };
}

/** Two keys of each form that a sender can have: the old one and its successor. */
const forms: Readonly<
  Record<string, { readonly scheme: SigningScheme; readonly old: KeyPair; readonly next: KeyPair }>
> = {
  "HMAC v1": {
    scheme: "HmacV1",
    old: sharedPair("HmacV1", "an-old-signing-key-of-forty-characters-0"),
    next: sharedPair("HmacV1", "a-new-signing-key-of-forty-characters-00"),
  },
  "Standard Webhooks with whsec_ keys": {
    scheme: "StandardWebhooks",
    old: sharedPair("StandardWebhooks", `whsec_${Buffer.alloc(32, 1).toString("base64")}`),
    next: sharedPair("StandardWebhooks", `whsec_${Buffer.alloc(32, 2).toString("base64")}`),
  },
  "Standard Webhooks with Ed25519": {
    scheme: "StandardWebhooks",
    old: privatePair("StandardWebhooks", "ed25519"),
    next: privatePair("StandardWebhooks", "ed25519"),
  },
  "HTTP message signatures": {
    scheme: "HttpMessageSignatures",
    old: privatePair("HttpMessageSignatures", "P-256"),
    next: privatePair("HttpMessageSignatures", "ed25519"),
  },
  "HTTP message signatures with P-384": {
    scheme: "HttpMessageSignatures",
    old: privatePair("HttpMessageSignatures", "P-384"),
    next: privatePair("HttpMessageSignatures", "P-256"),
  },
};

/** One attempt as the product signs it. */
function delivery(scheme: SigningScheme, keys: readonly SigningKey[]): IncomingRequest {
  const url = new URL("https://partner.example.com/webhooks/v1/payout?route=1");
  const body = Buffer.from(JSON.stringify(event));
  const common = { eventId: event.event_id, attempt: 1, producer: "payments", version: "0.0.0", endpointHeaders: {} };
  const headers = deliveryHeaders(scheme, { ...common, keys, url, body, sentAtMs });
  const lower = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const target = url.pathname + url.search;
  return { method: "POST", target, headers: { host: url.host, ...Object.fromEntries(lower) }, body };
}

describe.each(Object.entries(forms))("a partner's keys for %s", (_, { scheme, old, next }) => {
  const signed = delivery(scheme, [old.signing]);
  const sideBySide = delivery(scheme, [next.signing, old.signing]);
  const verify = (request: IncomingRequest, keys: readonly KeyPair[], nowMs = sentAtMs) =>
    verifyDelivery(
      request,
      keys.map(({ partner }) => partner),
      nowMs,
      scheme,
    );

  test("verify a delivery (Webhook Event Delivery §5)", () => {
    expect(verify(signed, [old])).toEqual({ ok: true, keyId: old.partner.id, event });
  });

  test("verify during a rotation, whichever side changes first (Webhook Event Delivery §5)", () => {
    expect(verify(signed, [next, old])).toMatchObject({ ok: true, keyId: old.partner.id });
    expect(verify(delivery(scheme, [next.signing]), [next, old])).toMatchObject({ ok: true, keyId: next.partner.id });
    expect(verify(sideBySide, [old])).toMatchObject({ ok: true, keyId: old.partner.id });
    expect(verify(sideBySide, [next])).toMatchObject({ ok: true, keyId: next.partner.id });
  });

  test("refuse another key, a changed body and another time (Webhook Event Delivery §5)", () => {
    expect(verify(signed, [next])).toMatchObject({ ok: false });
    expect(verify({ ...signed, body: Buffer.from(`${JSON.stringify(event)} `) }, [old])).toMatchObject({ ok: false });
    expect([301_000, -301_000].map((ms) => verify(signed, [old], sentAtMs + ms).ok)).toEqual([false, false]);
  });
});

describe("the published keys of a partner", () => {
  test("verify what the sender signs", () => {
    const scheme = "HttpMessageSignatures";
    const signing = ["P-256", "ed25519"].map((kind) => privatePair(scheme, kind as "P-256" | "ed25519").signing);
    const set = publicKeySet(signing);
    const keys = publicKeys(JSON.parse(JSON.stringify(set)) as Parameters<typeof publicKeys>[0]);
    expect(keys).toHaveLength(2);
    expect(verifyDelivery(delivery(scheme, signing.slice(1)), keys, sentAtMs, scheme)).toMatchObject({ ok: true });
  });

  test("leave out kinds of keys that no scheme supports", () => {
    const { publicKey: rsa } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    expect(publicKeys({ keys: [{ ...rsa.export({ format: "jwk" }), kid: "k" }] })).toEqual([]);
  });
});

describe("a text that is no shared key", () => {
  test.each([
    ["HmacV1", "short", "The key k1 has 5 bytes, fewer than 32"],
    ["StandardWebhooks", "whsec_!", "The key k1 is not base64 after whsec_"],
    [
      "StandardWebhooks",
      `whsk_${Buffer.alloc(32).toString("base64")}`,
      "The key k1 is a private key, which only the sender has",
    ],
  ] as const)("is refused for %s: %s", (scheme, text, message) => {
    expect(() => sharedKey("k1", text, scheme)).toThrow(new RangeError(message));
  });
});
