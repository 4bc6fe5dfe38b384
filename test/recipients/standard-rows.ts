import { createPublicKey, type JsonWebKey } from "node:crypto";
import { publicJwkOf } from "../../runtime/webhooks/signing/jwk.ts";
import { pemOf, rfcEd25519, signingKey } from "../runtime/webhooks/signing/key-material.ts";
import type { SigningKey } from "../../runtime/webhooks/signing/keys.ts";
import {
  accepted,
  after,
  bodyText,
  event,
  newSecret,
  oldKey,
  oldSecret,
  refused,
  sent,
  shared,
  without,
  type Change,
  type Row,
} from "./vector-rows.ts";

const prefixed = `whsec_${newSecret.toString("base64")}`;
const standard = { scheme: "StandardWebhooks" } as const;
const standardHeaders = sent(standard);
const edKey = signingKey("StandardWebhooks", pemOf(rfcEd25519));
const edPublic = { id: thumbprint(edKey), jwk: jwkOf(rfcEd25519) };

/** Deliveries of the scheme StandardWebhooks. */
export const standardRows: readonly Row[] = [
  ["standard-webhooks", `The key is the one of ${prefixed}.`, accepted, { ...standard, headers: standardHeaders }],
  [
    "standard-webhooks-full-stop",
    "A full stop ends the id in the signed text, so that an id has %2E instead.",
    accepted,
    dotted(),
  ],
  [
    "standard-webhooks-old-key",
    "Both keys sign, with a blank between; the recipient knows the old one.",
    { ...accepted, key: oldKey.id },
    { ...standard, secrets: [oldKey], headers: sent({ ...standard, keys: [shared(newSecret), shared(oldSecret)] }) },
  ],
  [
    "standard-webhooks-age-301-s",
    "The window is checked against webhook-timestamp, in whole seconds.",
    refused("timestamp_outside_window"),
    { ...standard, headers: standardHeaders, now: after(301) },
  ],
  [
    "standard-webhooks-body-changed-by-one-byte",
    "One digit of the amount differs.",
    refused("signature_mismatch"),
    { ...standard, headers: standardHeaders, body: bodyText.replace("1050", "1051") },
  ],
  [
    "standard-webhooks-no-signature",
    "webhook-signature is missing.",
    refused("signature_missing"),
    { ...standard, headers: without("X-Signature") },
  ],
  [
    "standard-webhooks-ed25519",
    "The sender signs with a private key; v1a marks such signatures.",
    { ...accepted, key: edPublic.id },
    { ...standard, secrets: [], public_keys: [edPublic], headers: sent({ ...standard, keys: [edKey] }) },
  ],
];

const message = { scheme: "HttpMessageSignatures", secrets: [], public_keys: [edPublic] } as const;
const host = { Host: "partner.example" };
const messageHeaders = {
  ...host,
  ...sent({ scheme: message.scheme, keys: [signingKey(message.scheme, pemOf(rfcEd25519))] }),
};

/** Deliveries of the scheme HttpMessageSignatures. */
export const messageRows: readonly Row[] = [
  [
    "http-message-signatures-ed25519",
    "A signature of RFC 9421 over method, authority, path, digest and headers.",
    { ...accepted, key: edPublic.id },
    { ...message, headers: messageHeaders },
  ],
  [
    "http-message-signatures-body-changed-by-one-byte",
    "Content-Digest no longer fits the body.",
    refused("digest_mismatch"),
    { ...message, headers: messageHeaders, body: bodyText.replace("1050", "1051") },
  ],
  [
    "http-message-signatures-other-path",
    "The signature covers the path.",
    refused("signature_mismatch"),
    { ...message, headers: messageHeaders, path: "/v1/payout" },
  ],
];

function dotted(): Change {
  const body = JSON.stringify({ ...event, event_id: "evt.1" });
  return { ...standard, body, headers: sent({ ...standard, body, eventId: "evt.1" }) };
}

function thumbprint(key: SigningKey): string {
  return "keyId" in key ? key.keyId : "";
}

function jwkOf(key: JsonWebKey): object {
  return publicJwkOf(createPublicKey({ key, format: "jwk" })) ?? {};
}
