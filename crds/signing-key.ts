import { createPrivateKey, type KeyObject } from "node:crypto";

/** Signature schemes of deliveries. Source: seed "Webhook Event Delivery" §5, Standard Webhooks 1.0.0, RFC 9421. */
export const signingSchemes = ["HmacV1", "StandardWebhooks", "HttpMessageSignatures"] as const;
export type SigningScheme = (typeof signingSchemes)[number];

/** Algorithms with a public key, by their names in RFC 9421 §6.2.2. */
export type AsymmetricAlgorithm = "ed25519" | "ecdsa-p256-sha256" | "ecdsa-p384-sha384";

/** A parsed signing key. */
export type ReadSigningKey =
  | { readonly algorithm: "hmac-sha256"; readonly secret: Uint8Array }
  | { readonly algorithm: AsymmetricAlgorithm; readonly privateKey: KeyObject };

/** Fault of bytes that are no key of a scheme; the message completes "the signing key … ". */
interface SigningKeyFault {
  readonly reason: "KeyTooShort" | "KeyUnusable";
  readonly message: string;
}

/** Fewest bytes of a shared key. */
const keyBytesMin = 32;

/** Bytes of a shared key that is written as `whsec_…`. Source: Standard Webhooks 1.0.0, "Signature scheme". */
const prefixedKeyBytes = { min: 24, max: 64 } as const;
const seedBytes = 32;
const secretPrefix = "whsec_";
const privatePrefix = "whsk_";
const base64Form = /^[A-Za-z0-9+/]+={0,2}$/u;
const pemForm = /^-----BEGIN [A-Z ]*PRIVATE KEY-----/u;
/** PKCS #8 in front of the seed of an Ed25519 key. Source: RFC 8410 §7. */
const ed25519Pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** Reads bytes as a key of a scheme. */
export function readSigningKey(
  scheme: SigningScheme,
  bytes: Buffer,
): ReadSigningKey | { readonly fault: SigningKeyFault } {
  switch (scheme) {
    case "HmacV1":
      return sharedKey(bytes);
    case "StandardWebhooks":
      return standardKey(bytes);
    case "HttpMessageSignatures":
      return messageKey(bytes);
  }
}

/** The algorithm of a private or public key; undefined for a kind of key that no scheme supports. */
export function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): AsymmetricAlgorithm | undefined {
  if (asymmetricKeyType === "ed25519") return "ed25519";
  if (asymmetricKeyType !== "ec") return undefined;
  const curves: Readonly<Record<string, AsymmetricAlgorithm>> = {
    prime256v1: "ecdsa-p256-sha256",
    secp384r1: "ecdsa-p384-sha384",
  };
  return curves[asymmetricKeyDetails?.namedCurve ?? ""];
}

function sharedKey(bytes: Buffer): ReturnType<typeof readSigningKey> {
  if (bytes.length >= keyBytesMin) return { algorithm: "hmac-sha256", secret: bytes };
  return { fault: { reason: "KeyTooShort", message: `has ${bytes.length} bytes, fewer than ${keyBytesMin}` } };
}

/** Reads a key by its prefix `whsec_` or `whsk_`, or as PEM. Every other text is a shared key as it is. */
function standardKey(bytes: Buffer): ReturnType<typeof readSigningKey> {
  const text = bytes.toString("latin1").trim();
  if (text.startsWith(secretPrefix)) return prefixedKey(text.slice(secretPrefix.length));
  if (text.startsWith(privatePrefix)) return seedKey(text.slice(privatePrefix.length));
  if (!pemForm.test(text)) return sharedKey(bytes);
  const key = pemKey(text);
  return key?.algorithm === "ed25519"
    ? key
    : unusable("is not an Ed25519 key, the only private key type of Standard Webhooks");
}

function prefixedKey(base64: string): ReturnType<typeof readSigningKey> {
  const secret = base64Form.test(base64) ? Buffer.from(base64, "base64") : undefined;
  if (secret === undefined) return unusable(`is not base64 after ${secretPrefix}`);
  const { min, max } = prefixedKeyBytes;
  if (secret.length < min) {
    return {
      fault: { reason: "KeyTooShort", message: `has ${secret.length} bytes after ${secretPrefix}, fewer than ${min}` },
    };
  }
  return secret.length > max
    ? unusable(`has more than ${max} bytes after ${secretPrefix}`)
    : { algorithm: "hmac-sha256", secret };
}

/** The seed, alone or with the public key behind it, as different tools write it. */
function seedKey(base64: string): ReturnType<typeof readSigningKey> {
  const written = base64Form.test(base64) ? Buffer.from(base64, "base64") : Buffer.alloc(0);
  if (written.length !== seedBytes && written.length !== 2 * seedBytes) {
    return unusable(`is not the base64 of an Ed25519 key after ${privatePrefix}`);
  }
  const key = Buffer.concat([ed25519Pkcs8, written.subarray(0, seedBytes)]);
  return { algorithm: "ed25519", privateKey: createPrivateKey({ key, format: "der", type: "pkcs8" }) };
}

function messageKey(bytes: Buffer): ReturnType<typeof readSigningKey> {
  return pemKey(bytes.toString("latin1").trim()) ?? unusable("is not a PEM private key of Ed25519, P-256 or P-384");
}

function pemKey(text: string): Extract<ReadSigningKey, { readonly privateKey: KeyObject }> | undefined {
  try {
    const privateKey = createPrivateKey(text);
    const algorithm = algorithmOf(privateKey);
    return algorithm === undefined ? undefined : { algorithm, privateKey };
  } catch {
    return undefined;
  }
}

function unusable(message: string): { readonly fault: SigningKeyFault } {
  return { fault: { reason: "KeyUnusable", message } };
}
