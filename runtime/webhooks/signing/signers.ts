import { createSecretKey } from "node:crypto";
import { readSigningKey, type SigningScheme } from "../../../crds/signing-key.ts";
import { isInForce, signingKeyOf, type SigningKey } from "./keys.ts";

/** A key of a partner that can sign. */
export type Signer = SigningKey & {
  /** Unix milliseconds after which it signs no more. @default never */
  readonly notAfterMs?: number;
};

/** A key as a partner's configuration names it. */
interface SignerConfig {
  /** Key of the material. */
  readonly material: string;
  readonly notAfterMs?: number;
}

/**
 * The keys of a partner in their order, ready to sign. `material` holds their bytes in base64. A key without bytes, or
 * with bytes that are no key of the scheme, is left out; without the first there are none, since it has to sign
 * everything.
 */
export function readSigners(
  scheme: SigningScheme,
  keys: readonly SignerConfig[],
  material: Readonly<Record<string, string>>,
): readonly Signer[] {
  const read = keys.map((key) => readSigner(scheme, key, material[key.material]));
  return read[0] === undefined ? [] : read.filter((signer) => signer !== undefined);
}

/** The keys that sign an attempt now: of those that have not ended the first, or side by side all of them. */
export function signersAt(signers: readonly Signer[], isSideBySide: boolean, nowMs: number): readonly Signer[] {
  const inForce = signers.filter((signer) => isInForce(signer, nowMs));
  return isSideBySide ? inForce : inForce.slice(0, 1);
}

function readSigner(
  scheme: SigningScheme,
  { notAfterMs }: SignerConfig,
  base64: string | undefined,
): Signer | undefined {
  const key = readSigningKey(scheme, Buffer.from(base64 ?? "", "base64"));
  if ("fault" in key) return undefined;
  // A key that is made once signs seven times as quick as its bytes.
  const ready = "secret" in key ? { ...key, secret: createSecretKey(key.secret) } : signingKeyOf(key);
  return { ...ready, ...(notAfterMs === undefined ? {} : { notAfterMs }) };
}
