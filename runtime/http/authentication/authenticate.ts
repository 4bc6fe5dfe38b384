// Authentication of callers: token, certificate and DPoP checks. Rights of routes are checked elsewhere.
import { hash } from "node:crypto";
import { decodeJwt, errors, jwtVerify } from "jose";
import { BoundedMap } from "../../../limits/bounded-map.ts";
import type { ClaimSettings, IssuerSettings, TokenBinding } from "../../config/settings/settings.ts";
import { ApiError } from "../../errors/api-error.ts";
import type { Caller } from "../../metrics/authorization/access.ts";
import type { Thumbprint } from "./client-certificate.ts";
import { createSeenProofs, proofLifetimeMs, requireProof } from "./dpop-proof.ts";
import type { KeySource } from "./key-source.ts";
import {
  type Binding,
  bindingOf,
  callerOf,
  certificateFault,
  type Claims,
  requireBound,
  requireCertificate,
  requireScheme,
  requireType,
  type Scheme,
  withGrant,
} from "./token-binding.ts";

const issuersShown = 4;
const issuerCharactersShown = 256;

/**
 * The same token bound to a key: whoever sends it must prove the key (RFC 9449), until it ends as before.
 * @param jkt thumbprint of the public key, base64url
 * @param origin at which the connection arrived
 * @returns undefined for a token that is invalid or already bound
 */
export type BindToKey = (
  token: string,
  jkt: string,
  origin: string | undefined,
) => Promise<{ readonly token: string; readonly expiresAtMs: number } | undefined>;

/** One issuer with its keys. */
export interface TrustedIssuer {
  readonly settings: IssuerSettings;
  readonly keys: KeySource;
  /**
   * Signs a nonce of the caller and the origin at which its connection arrived. Present only if the key is on this
   * machine; the issuer's tokens may then name that origin as their audience.
   */
  readonly proveOrigin?: (nonce: string, origin: string) => Promise<string>;
  /** Present with {@link proveOrigin}. */
  readonly bindToKey?: BindToKey;
}

/** Evidence of a request besides its token: the token belongs to its sender. */
export interface Possession {
  /** The client certificate; undefined without an acceptable one. */
  readonly certificate: () => Thumbprint | undefined;
  /** The `DPoP` header. */
  readonly proof: string | undefined;
  readonly method: string;
  /** Path of the request target, as sent. */
  readonly path: string;
  /** The `Host` header. */
  readonly host: string | undefined;
  /** Origin at which the connection arrived, by its socket. */
  readonly origin?: string | undefined;
  /** Required binding of the token. @default the binding in the settings of its issuer */
  readonly binding?: TokenBinding;
}

/**
 * Authenticates the sender of a request.
 * @throws ApiError `token_missing`, `token_invalid`, `proof_invalid`; `too_many_requests` when the store of proofs is
 * full; `not_ready` when the keys cannot be read
 */
export interface Authenticate {
  (authorization: string | undefined, shown: Possession): Promise<Caller>;
  /**
   * True while the token that authenticated this caller is valid together with a certificate. Always false where each
   * request needs its own proof.
   * @default always false
   */
  readonly isStill?: (caller: Caller, certificate: Possession["certificate"]) => boolean;
}

/** Evidence that callers must give besides a signed token. */
export interface AuthenticateOptions {
  /** For issuers without a binding of their own. @default "None" */
  readonly tokenBinding?: TokenBinding;
  /** Origins that proofs may name. @default the `Host` header, with http and https */
  readonly publicUrls?: readonly string[];
}

const tokenLengthMax = 8192;
/** Tolerated clock difference for `exp` and `nbf`. */
const clockLeewaySeconds = 30;
const verifiedEntriesMax = 8192;

/** A token with verified signature and claims. Each request must show what it is bound to. */
interface Verified {
  readonly caller: Caller;
  readonly binding: Binding;
  readonly issuer: TrustedIssuer;
  /** Of the issuer's keys. */
  readonly keysVersion: number | undefined;
  readonly untilMs: number;
}

/**
 * Verifies OAuth 2.0 access tokens: signature by the issuer's own keys and algorithms, `iss`, `aud`, `exp`, `nbf`, and
 * possession of the certificate or key of a bound token. A verified token is accepted until it expires or the keys of
 * its issuer are read again. Source: seed "Operational Metrics API" §5, RFC 6750, RFC 8705 §3, RFC 8725, RFC 9449.
 */
export function createAuthenticate(
  issuers: readonly TrustedIssuer[],
  claimNames: ClaimSettings,
  now: () => number,
  { tokenBinding = "None", publicUrls = [] }: AuthenticateOptions = {},
): Authenticate {
  const byName = new Map(issuers.map((issuer) => [issuer.settings.issuer, issuer]));
  const verify = rememberVerified(now, (token, origin) => verifiedToken(token, { byName, claimNames, origin }, now()));
  const seenProofs = createSeenProofs(proofLifetimeMs);
  const verifiedCallers = new WeakMap<Caller, Verified>();
  const isStill: Authenticate["isStill"] = (caller, certificate) => {
    const verified = verifiedCallers.get(caller);
    if (verified === undefined || verified.binding.key !== undefined || !isInForce(verified, now())) return false;
    return certificateFault(verified.binding, certificate) === undefined;
  };
  const authenticate: Authenticate = async (authorization, shown) => {
    const { scheme, token } = credentialsOf(authorization);
    const verified = await verify(token, shown.origin);
    const { caller, binding, issuer } = verified;
    requireBound(binding, shown.binding ?? issuer.settings.tokenBinding ?? tokenBinding);
    requireCertificate(binding, shown.certificate);
    requireScheme(scheme, binding);
    if (binding.key !== undefined) {
      const origins = publicUrls.length > 0 ? publicUrls : [`http://${shown.host}`, `https://${shown.host}`];
      await requireProof({ ...shown, origins, token, key: binding.key }, seenProofs, now());
    }
    verifiedCallers.set(caller, verified);
    return caller;
  };
  return Object.assign(authenticate, { isStill });
}

type VerifyToken = (token: string, origin: string | undefined) => Promise<Verified>;

/** Caches verified tokens by their digests: digests have one size and are no secret. */
function rememberVerified(now: () => number, verify: VerifyToken): VerifyToken {
  const entries = new BoundedMap<string, Verified>(verifiedEntriesMax);
  return async (token, origin) => {
    const digest = hash("sha256", token, "base64");
    const known = entries.get(digest);
    if (known !== undefined && isInForce(known, now())) return known;
    const verified = await verify(token, origin);
    if (isInForce(verified, now())) entries.set(digest, verified);
    return verified;
  };
}

function isInForce({ untilMs, keysVersion, issuer }: Verified, nowMs: number): boolean {
  return untilMs > nowMs && keysVersion !== undefined && keysVersion === issuer.keys.version();
}

function credentialsOf(authorization: string | undefined): { readonly scheme: Scheme; readonly token: string } {
  const [, scheme, token] = /^(Bearer|DPoP) +([^ ]+) *$/iu.exec(authorization ?? "") ?? [];
  if (scheme === undefined || token === undefined)
    throw new ApiError("token_missing", "Send a token as `Authorization: Bearer <token>`.");
  if (token.length > tokenLengthMax)
    throw new ApiError("token_invalid", `The token is longer than ${tokenLengthMax} characters.`);
  return { scheme: scheme.toLowerCase() as Scheme, token };
}

interface Verification {
  readonly byName: ReadonlyMap<string, TrustedIssuer>;
  readonly claimNames: ClaimSettings;
  readonly origin: string | undefined;
}

async function verifiedToken(
  token: string,
  { byName, claimNames, origin }: Verification,
  nowMs: number,
): Promise<Verified> {
  const issuer = issuerOf(token, byName);
  const keysVersion = issuer.keys.version();
  const own = issuer.proveOrigin === undefined || origin === undefined ? [] : [origin];
  const claims = await verifiedClaims(token, issuer, { nowMs, audiences: [...issuer.settings.audiences, ...own] });
  const grants = issuer.settings.grants ?? [];
  const granted = withGrant(
    callerOf(claims, claimNames),
    grants.find(({ subject }) => subject === claims["sub"]),
  );
  const untilMs = Number(claims["exp"]) * 1000;
  return { caller: { ...granted, expiresAtMs: untilMs }, binding: bindingOf(claims), issuer, keysVersion, untilMs };
}

function issuerOf(token: string, issuers: ReadonlyMap<string, TrustedIssuer>): TrustedIssuer {
  const claimed = claimedIssuer(token);
  const issuer = issuers.get(claimed ?? "");
  if (issuer === undefined) throw new ApiError("token_invalid", untrusted(claimed, [...issuers.keys()]));
  return issuer;
}

/** Names of issuers are public, and both are needed to find out which one is wrong. */
function untrusted(claimed: string | undefined, trusted: readonly string[]): string {
  if (claimed === undefined) return "The token has no iss claim.";
  const listed = trusted.slice(0, issuersShown).map((name) => JSON.stringify(name));
  const others = trusted.length - listed.length;
  const more = others > 0 ? ` and ${others} more` : "";
  const shown = JSON.stringify(claimed.slice(0, issuerCharactersShown));
  return `The issuer ${shown} of the token is not trusted. Trusted: ${listed.join(", ") || "none"}${more}.`;
}

function claimedIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch (cause) {
    throw new ApiError("token_invalid", "The token is not a valid signed JWT.", { cause });
  }
}

async function verifiedClaims(
  token: string,
  issuer: TrustedIssuer,
  { nowMs, audiences }: { readonly nowMs: number; readonly audiences: string[] },
): Promise<Claims> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, issuer.keys.getKey, {
      issuer: issuer.settings.issuer,
      audience: audiences,
      algorithms: [...issuer.settings.algorithms],
      requiredClaims: ["exp"],
      clockTolerance: clockLeewaySeconds,
      currentDate: new Date(nowMs),
    });
    requireType(protectedHeader.typ, issuer.settings.tokenType);
    return payload;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError("token_invalid", faultOf(error), { cause: error });
  }
}

/** Detail for the caller: enough to correct the token, without information on keys. */
function faultOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "The token has expired.";
  if (error instanceof errors.JWTClaimValidationFailed) return `The token's ${error.claim} claim is not accepted.`;
  if (error instanceof errors.JOSEAlgNotAllowed) return "The token's signing algorithm is not allowed.";
  if (error instanceof errors.JWKSNoMatchingKey) return "No key of the issuer matches the token.";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "The token's signature is invalid.";
  return "The token is not a valid signed JWT.";
}
