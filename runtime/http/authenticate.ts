import { decodeJwt, errors, jwtVerify } from "jose";
import { BoundedMap } from "../bounds/bounded-map.ts";
import type { ClaimSettings, IssuerSettings } from "../config/settings.ts";
import { Refusal } from "../errors/refusal.ts";
import type { Caller } from "../metrics/caller.ts";
import { callerOf, withGrant, type Claims } from "./caller-claims.ts";
import type { KeySource } from "./key-source.ts";

/** One issuer with its keys. */
export interface TrustedIssuer {
  readonly settings: IssuerSettings;
  readonly keys: KeySource;
}

/** Who sent a request. @throws Refusal `token_missing`, `token_invalid`, or `not_ready` when keys cannot be had */
export type Authenticate = (authorization: string | undefined) => Promise<Caller>;

const tokenLengthMax = 8192;
/** Difference between clocks that `exp` and `nbf` forgive. */
const clockLeewaySeconds = 30;
/** How long a verified token is believed without looking again, so that a withdrawn key is noticed. */
const verifiedMs = 30_000;
const verifiedEntriesMax = 4096;

interface Verified {
  readonly caller: Caller;
  readonly untilMs: number;
}

/**
 * Verifies OAuth 2.0 bearer tokens: signature by the issuer's own keys and algorithms, `iss`, `aud`, `exp`, `nbf`.
 * A token that is bound to a key or certificate is refused, since nothing here proves the binding (RFC 8705 §3).
 * Source: seed "Operational Metrics API" §5, RFC 6750, RFC 8725.
 */
export function createAuthenticate(
  issuers: readonly TrustedIssuer[],
  claimNames: ClaimSettings,
  now: () => number,
): Authenticate {
  const byName = new Map(issuers.map((issuer) => [issuer.settings.issuer, issuer]));
  const verified = new BoundedMap<string, Verified>(verifiedEntriesMax);
  return async (authorization) => {
    const token = bearerToken(authorization);
    const known = verified.get(token);
    if (known !== undefined && known.untilMs > now()) return known.caller;
    const claims = await verifiedClaims(token, byName, now());
    const grants = byName.get(String(claims["iss"]))?.settings.grants ?? [];
    const caller = withGrant(callerOf(claims, claimNames), grants.find(({ subject }) => subject === claims["sub"]));
    verified.set(token, { caller, untilMs: Math.min(now() + verifiedMs, Number(claims["exp"]) * 1000) });
    return caller;
  };
}

function bearerToken(authorization: string | undefined): string {
  const [, token] = /^Bearer +([^ ]+) *$/iu.exec(authorization ?? "") ?? [];
  if (token === undefined) {
    throw new Refusal("token_missing", "Send a token as `Authorization: Bearer <token>`.");
  }
  if (token.length > tokenLengthMax) {
    throw new Refusal("token_invalid", `The token is longer than ${tokenLengthMax} characters.`);
  }
  return token;
}

async function verifiedClaims(
  token: string,
  issuers: ReadonlyMap<string, TrustedIssuer>,
  nowMs: number,
): Promise<Claims> {
  try {
    const issuer = issuers.get(decodeJwt(token).iss ?? "");
    if (issuer === undefined) throw new Refusal("token_invalid", "The issuer of the token is not trusted here.");
    const { payload } = await jwtVerify(token, issuer.keys.getKey, {
      issuer: issuer.settings.issuer,
      audience: [...issuer.settings.audiences],
      algorithms: [...issuer.settings.algorithms],
      requiredClaims: ["exp"],
      clockTolerance: clockLeewaySeconds,
      currentDate: new Date(nowMs),
    });
    if (payload["cnf"] === undefined) return payload;
    throw new Refusal("token_invalid", "The token is bound to a key or certificate that this connection does not prove.");
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("token_invalid", faultOf(error), { cause: error });
  }
}

/** What the caller may know: enough to mend the token, nothing of our keys. */
function faultOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "The token has expired.";
  if (error instanceof errors.JWTClaimValidationFailed) return `The claim ${error.claim} of the token is not accepted.`;
  if (error instanceof errors.JOSEAlgNotAllowed) return "The algorithm of the token is not accepted.";
  if (error instanceof errors.JWKSNoMatchingKey) return "No key of the issuer fits the token.";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "The signature of the token is not valid.";
  return "The token is not a valid signed JWT.";
}
