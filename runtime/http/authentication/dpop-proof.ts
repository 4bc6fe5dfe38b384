import { hash } from "node:crypto";
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify, type JWTVerifyResult } from "jose";
import { ApiError } from "../../errors/api-error.ts";

/** The request that a proof must fit. */
interface ProofOccasion {
  /** Value of the `DPoP` header; several of them are joined with commas, which no JWT has. */
  readonly proof: string | undefined;
  readonly method: string;
  /** Path of the request target, as sent. */
  readonly path: string;
  /** Origins under which this very request may have been addressed. */
  readonly origins: readonly string[];
  readonly token: string;
  /** Thumbprint of the key that the token is bound to, base64url. */
  readonly key: string;
}

/** Signature algorithms of proofs, as the challenge names them. */
export const proofAlgorithms: readonly string[] = ["ES256", "ES384", "ES512", "EdDSA", "Ed25519", "PS256", "RS256"];

const proofLengthMax = 4096;
const proofIdLengthMax = 512;
/** Greatest age of a proof when it arrives. */
const proofAgeSecondsMax = 60;
/** Greatest lead of the sender's clock. */
const clockLeewaySeconds = 30;
/** Time after its first use in which a proof could be repeated. */
export const proofLifetimeMs = (proofAgeSecondsMax + clockLeewaySeconds) * 1000;

/**
 * Checks that the sender of a request holds the key that its token is bound to. Source: RFC 9449 §4.3 and §7.1.
 * @throws ApiError `proof_invalid`; `too_many_requests` when no more proofs can be remembered
 */
export async function requireProof(occasion: ProofOccasion, seen: SeenProofs, nowMs: number): Promise<void> {
  const { payload, protectedHeader } = await verifiedProof(occasion.proof, nowMs);
  const jwk = protectedHeader.jwk ?? {};
  if ((await calculateJwkThumbprint(jwk)) !== occasion.key)
    throw invalid("is not signed with the key that the token is bound to");
  if (payload["htm"] !== occasion.method) throw invalid("is for a different method (htm)");
  if (!isAddressed(payload["htu"], occasion)) throw invalid("is for a different URL (htu)");
  if (payload["ath"] !== hash("sha256", occasion.token, "base64url")) throw invalid("is for a different token (ath)");
  requireFresh(payload.iat, nowMs);
  requireNew(`${occasion.key} ${String(payload.jti)}`, seen, nowMs);
}

async function verifiedProof(proof: string | undefined, nowMs: number): Promise<JWTVerifyResult> {
  if (proof === undefined) throw invalid("is missing: send it as `DPoP: <proof>`");
  if (proof.length > proofLengthMax) throw invalid(`is longer than ${proofLengthMax} characters`);
  try {
    const verified = await jwtVerify(proof, EmbeddedJWK, {
      typ: "dpop+jwt",
      algorithms: [...proofAlgorithms],
      requiredClaims: ["jti", "htm", "htu", "iat", "ath"],
      clockTolerance: clockLeewaySeconds,
      currentDate: new Date(nowMs),
    });
    if (typeof verified.payload.jti === "string" && verified.payload.jti.length <= proofIdLengthMax) return verified;
  } catch (error) {
    throw new ApiError("proof_invalid", "The DPoP proof is not a valid signed JWT with its own public key.", {
      cause: error,
    });
  }
  throw invalid("has no valid jti");
}

function isAddressed(htu: unknown, { path, origins }: ProofOccasion): boolean {
  const url = typeof htu === "string" ? URL.parse(htu) : null;
  if (url === null) return false;
  return origins.some((origin) => {
    const own = URL.parse(origin + path);
    return own !== null && own.origin === url.origin && own.pathname === url.pathname;
  });
}

function requireFresh(iat: unknown, nowMs: number): void {
  const ageSeconds = nowMs / 1000 - Number(iat);
  // Both comparisons are false for NaN.
  if (ageSeconds <= proofAgeSecondsMax && ageSeconds >= -clockLeewaySeconds) return;
  throw invalid("is expired or issued in the future (iat)");
}

function requireNew(id: string, seen: SeenProofs, nowMs: number): void {
  const found = seen.add(id, nowMs);
  if (found === "seen") throw invalid("has already been used (jti)");
  if (found === "full") {
    throw new ApiError("too_many_requests", "The replay cache for proofs is full. Try again later.", {
      retryAfterSeconds: 1,
    });
  }
}

function invalid(what: string): ApiError {
  return new ApiError("proof_invalid", `The DPoP proof ${what}.`);
}

/** Ids of recent proofs that could still be repeated. */
interface SeenProofs {
  /** Remembers an id. `full`: the id is not remembered, so its proof must be rejected. */
  add(id: string, nowMs: number): "new" | "seen" | "full";
}

/** About 25 MB of memory when both halves are full. */
export const idsPerHalfMax = 131_072;

/** Remembers ids for `lifetimeMs` to twice as long, in two halves. Each lifetime drops the older half. */
export function createSeenProofs(lifetimeMs: number): SeenProofs {
  let newer = new Set<string>();
  let older = new Set<string>();
  let sinceMs = Number.NEGATIVE_INFINITY;
  return {
    add(id, nowMs) {
      if (nowMs - sinceMs >= lifetimeMs) {
        older = nowMs - sinceMs >= 2 * lifetimeMs ? new Set() : newer;
        newer = new Set();
        sinceMs = nowMs;
      }
      // Digests have one size, whatever callers send.
      const key = hash("sha256", id, "base64");
      if (newer.has(key) || older.has(key)) return "seen";
      if (newer.size >= idsPerHalfMax) return "full";
      newer.add(key);
      return "new";
    },
  };
}
