import { createPublicKey, type KeyObject } from "node:crypto";
import { algorithmOf, type AsymmetricAlgorithm, type ReadSigningKey } from "../../../crds/signing-key.ts";
import { thumbprintOf } from "./jwk.ts";

/** Bytes of a shared key, or a key object made from them once, which signs seven times as fast. */
export type HmacKey = Uint8Array | KeyObject;

/** A key that signs. */
export type SigningKey =
  | { readonly algorithm: "hmac-sha256"; readonly secret: HmacKey }
  | {
      readonly algorithm: AsymmetricAlgorithm;
      readonly privateKey: KeyObject;
      /** Name of the key for recipients: {@link thumbprintOf} of its public key. */
      readonly keyId: string;
    };

/** A shared key that a recipient accepts. */
interface SharedKey {
  readonly id: string;
  readonly secret: HmacKey;
  /** Unix milliseconds after which the key is invalid. @default never */
  readonly notAfterMs?: number;
}

/** A public key that a recipient accepts. */
interface PublicKey {
  /** For HttpMessageSignatures the `kid` of the sender's key set. */
  readonly id: string;
  readonly publicKey: KeyObject;
  /** Unix milliseconds after which the key is invalid. @default never */
  readonly notAfterMs?: number;
}

/** A key that a recipient accepts. */
export type VerificationKey = SharedKey | PublicKey;

/** Prepares a parsed key for signing. */
export function signingKeyOf(key: ReadSigningKey): SigningKey {
  return "secret" in key ? key : { ...key, keyId: thumbprintOf(createPublicKey(key.privateKey)) };
}

/** The shared keys that are in force. */
export function sharedKeysAt(keys: readonly VerificationKey[], nowMs: number): readonly SharedKey[] {
  return keys.filter((key): key is SharedKey => "secret" in key && isInForce(key, nowMs));
}

/** The public keys that are in force and have a supported algorithm. */
export function publicKeysAt(keys: readonly VerificationKey[], nowMs: number): readonly PublicKey[] {
  return keys.filter((key): key is PublicKey => {
    return "publicKey" in key && isInForce(key, nowMs) && algorithmOf(key.publicKey) !== undefined;
  });
}

/** Whether a key is valid at this time, its `notAfter` included. */
export function isInForce({ notAfterMs }: { readonly notAfterMs?: number }, nowMs: number): boolean {
  return notAfterMs === undefined || nowMs <= notAfterMs;
}
