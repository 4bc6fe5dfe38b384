import { createPublicKey, generateKeyPairSync, hash, randomUUID, type KeyObject } from "node:crypto";
import { signBytes } from "../signing/keys.ts";

/** A request whose sender proves possession of a key. */
interface ProvenRequest {
  readonly method: string;
  readonly url: URL;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** The access token of the request, if it has one. */
  readonly token?: string;
  /** The nonce that the server requires, if it requires one. */
  readonly nonce?: string;
}

/** Builds the proof for a request. */
export type ProveKey = (request: ProvenRequest) => string;

const secondMs = 1_000;

/** Creates a key for the lifetime of the process. Source: RFC 9449 §4.2. */
export function createKeyProof(): ProveKey {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: "jwk" });
  const header = { typ: "dpop+jwt", alg: "ES256", jwk: { kty, crv, x, y } };
  return (request) => signed(privateKey, header, claimsOf(request));
}

/** Builds the claims. `htu` has no query, as the server compares it. */
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
