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
/** A prefix of Standard Webhooks anywhere in a text, and in any case: behind `v1,`, a quotation mark or a name. */
const prefixForm = /wh(?:sec|sk|pk)_/iu;
const publicPrefixForm = /whpk_/iu;
const base64Form = /^[A-Za-z0-9+/]+={0,2}$/u;
const urlSafeForm = /^[A-Za-z0-9_-]+={0,2}$/u;
const pemForm = /^-----BEGIN [A-Z ]*PRIVATE KEY-----/u;
const anyPemForm = /^-----BEGIN /u;
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

/**
 * Reads bytes of a published configuration as a key of a scheme. Earlier versions published some texts that
 * {@link readSigningKey} rejects, and signed with their bytes. The key of a partner never changes with a version.
 */
export function readPublishedKey(scheme: SigningScheme, bytes: Buffer): ReturnType<typeof readSigningKey> {
  const key = readSigningKey(scheme, bytes);
  const isEarlierText = "fault" in key && scheme === "StandardWebhooks" && readPrefix(textOf(bytes)) === undefined;
  return isEarlierText ? sharedKey(bytes) : key;
}

/**
 * The bytes that libraries of Standard Webhooks read from a shared key without a prefix, which signs as written;
 * undefined when they cannot read it. Source: Standard Webhooks 1.0.0, "Signature scheme".
 */
export function otherReading(scheme: SigningScheme, bytes: Buffer): Buffer | undefined {
  const text = textOf(bytes);
  if (scheme !== "StandardWebhooks" || !base64Form.test(text)) return undefined;
  const digits = text.replaceAll("=", "").length;
  const isWhole = digits % 4 !== 1 && (digits === text.length || text.length % 4 === 0);
  const decoded = Buffer.from(text, "base64");
  const { min, max } = prefixedKeyBytes;
  return isWhole && decoded.length >= min && decoded.length <= max ? decoded : undefined;
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

/** Reads a key by its prefix `whsec_` or `whsk_`, or as PEM. Every text without either is a shared key as it is. */
function standardKey(bytes: Buffer): ReturnType<typeof readSigningKey> {
  const text = textOf(bytes);
  return readPrefix(text) ?? misplacedPrefix(text) ?? sharedKey(bytes);
}

/** Reads a key whose text begins as one that every version reads; undefined for any other text. */
function readPrefix(text: string): ReturnType<typeof readSigningKey> | undefined {
  if (text.startsWith(secretPrefix)) return prefixedKey(text.slice(secretPrefix.length));
  if (text.startsWith(privatePrefix)) return seedKey(text.slice(privatePrefix.length));
  if (!pemForm.test(text)) return undefined;
  const key = pemKey(text);
  return key?.algorithm === "ed25519"
    ? key
    : unusable("is not an Ed25519 key, the only private key type of Standard Webhooks");
}

/** The fault of a text that holds a key in a form that no library of Standard Webhooks reads as its bytes. */
function misplacedPrefix(text: string): { readonly fault: SigningKeyFault } | undefined {
  if (publicPrefixForm.test(text)) return unusable("is a public key (whpk_); a partner signs with whsec_ or whsk_");
  const [prefix] = prefixForm.exec(text) ?? [];
  if (prefix !== undefined) {
    return unusable(
      `has other text around ${prefix.toLowerCase()}; write only ${secretPrefix} or ${privatePrefix} and base64`,
    );
  }
  return anyPemForm.test(text) ? unusable("is PEM, but not a private key") : undefined;
}

function textOf(bytes: Buffer): string {
  return bytes.toString("latin1").trim();
}

function prefixedKey(base64: string): ReturnType<typeof readSigningKey> {
  const secret = base64Form.test(base64) ? Buffer.from(base64, "base64") : undefined;
  if (secret === undefined) {
    const hint = urlSafeForm.test(base64) ? ": it is url-safe base64; write + for - and / for _" : "";
    return unusable(`is not base64 after ${secretPrefix}${hint}`);
  }
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
  if (written.length !== seedBytes && written.length !== 2 * seedBytes)
    return unusable(`is not the base64 of an Ed25519 key after ${privatePrefix}`);
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
