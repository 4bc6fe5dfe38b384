import { edKey, edPublic, otherKey, p256Public } from "./public-keys.ts";
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
const edHeaders = sent({ ...standard, keys: [edKey] });
const publicOnly = { ...standard, secrets: [], public_keys: [edPublic] } as const;

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
    "standard-webhooks-unknown-entry",
    "Entries of later versions and of others are beside a valid one.",
    accepted,
    signedBy((valid) => `v2,abc  v1 ${valid} v1,short`),
  ],
  [
    "standard-webhooks-commas-between-entries",
    "A proxy joined lines: entries of several may have a comma between them, with a space behind it or none.",
    accepted,
    signedBy((valid) => `v2,abc,v1,${"A".repeat(43)}=,${valid}, v3,abc`),
  ],
  ["standard-webhooks-comma-at-the-end", "An empty line was joined too.", accepted, signedBy((valid) => `${valid},`)],
  [
    "standard-webhooks-nine-signatures",
    "A ninth entry is not read.",
    accepted,
    signedBy((valid) => `${"v2,abc ".repeat(7)}${valid} ${valid}`),
  ],
  [
    "standard-webhooks-ninth-entry",
    "The valid signature is the ninth entry, which is not read.",
    refused("signature_malformed"),
    signedBy((valid) => `${"v2,abc ".repeat(8)}${valid}`),
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
    { ...publicOnly, headers: edHeaders },
  ],
  [
    "standard-webhooks-ed25519-body-changed-by-one-byte",
    "One digit of the amount differs, and so does the text under the signature v1a.",
    refused("signature_mismatch"),
    { ...publicOnly, headers: edHeaders, body: bodyText.replace("1050", "1051") },
  ],
  [
    "standard-webhooks-shared-and-ed25519",
    "A shared and a private key sign; the recipient knows the public key.",
    { ...accepted, key: edPublic.id },
    { ...publicOnly, headers: sent({ ...standard, keys: [shared(newSecret), edKey] }) },
  ],
  [
    "standard-webhooks-two-ed25519",
    "Two private keys sign, with a blank between; the recipient knows the second.",
    { ...accepted, key: edPublic.id },
    { ...publicOnly, headers: sent({ ...standard, keys: [otherKey, edKey] }) },
  ],
  [
    "standard-webhooks-ed25519-of-an-unknown-key",
    "The recipient does not know the key that signed.",
    refused("signature_mismatch"),
    { ...publicOnly, headers: sent({ ...standard, keys: [otherKey] }) },
  ],
  [
    "standard-webhooks-ed25519-and-a-key-of-another-algorithm",
    "A signature v1a is of Ed25519; a key of P-256 verifies none.",
    refused("signature_mismatch"),
    { ...publicOnly, public_keys: [p256Public], headers: edHeaders },
  ],
  [
    "standard-webhooks-ed25519-without-padding",
    "A signature v1a has 86 characters and two equals signs.",
    refused("signature_malformed"),
    { ...publicOnly, headers: { ...edHeaders, "webhook-signature": unpadded(edHeaders["webhook-signature"]) } },
  ],
];

function signedBy(field: (valid: string) => string): Change {
  return {
    ...standard,
    headers: { ...standardHeaders, "webhook-signature": field(standardHeaders["webhook-signature"] ?? "") },
  };
}

function dotted(): Change {
  const body = JSON.stringify({ ...event, event_id: "evt.1" });
  return { ...standard, body, headers: sent({ ...standard, body, eventId: "evt.1" }) };
}

function unpadded(signature = ""): string {
  return signature.replace(/=+$/u, "");
}
