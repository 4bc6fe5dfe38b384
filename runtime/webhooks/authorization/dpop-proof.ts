import { createPublicKey, generateKeyPairSync, hash, randomUUID, type KeyObject } from "node:crypto";
import { signBytes } from "../signing/asymmetric.ts";

/** A request whose sender proves a key. */
interface ProvenRequest {
  readonly method: string;
  readonly url: URL;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** The token that goes with the request, if one does. */
  readonly token?: string;
  /** What the server last asked to be repeated, if anything. */
  readonly nonce?: string;
}

/** A key of this process, and proofs of having it. */
export type ProveKey = (request: ProvenRequest) => string;

const secondMs = 1_000;

/** Makes a key that lives as long as the process. Source: RFC 9449 §4.2. */
export function createKeyProof(): ProveKey {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: "jwk" });
  const header = { typ: "dpop+jwt", alg: "ES256", jwk: { kty, crv, x, y } };
  return (request) => signed(privateKey, header, claimsOf(request));
}

/** The target without its query, as the other side compares it. */
function claimsOf({ method, url, nowMs, token, nonce }: ProvenRequest): object {
  return {
    jti: randomUUID(),
    htm: method,
    htu: url.origin + url.pathname,
    iat: Math.floor(nowMs / secondMs),
    ...(token === undefined ? {} : { ath: hash("sha256", token, "base64url") }),
    ...(nonce === undefined ? {} : { nonce }),
  };
}

function signed(key: KeyObject, header: object, claims: object): string {
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${text}.${signBytes(key, Buffer.from(text)).toString("base64url")}`;
}
