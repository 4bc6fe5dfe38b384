import { timingSafeEqual } from "node:crypto";
import type { ClaimSettings, SubjectGrant, TokenBinding, TokenType } from "../../config/settings/settings.ts";
import { ApiError } from "../../errors/api-error.ts";
import type { Caller } from "../../metrics/authorization/access.ts";
import type { Thumbprint } from "./client-certificate.ts";

/** Claims of a verified token. */
export type Claims = Readonly<Record<string, unknown>>;

const entriesMax = 1024;

/**
 * The caller that a verified token names. Without their claims, regions, environments and metrics are `*`, tenants and
 * roles are empty, and partners stay absent (every partner). Scopes come from `scope` (a string) and `scp` (a list or a
 * string) when the settings name no claim. Source: RFC 8693 §4.2, RFC 9068.
 * @throws ApiError `token_invalid` for a claim of another shape, and for a token that names no client
 */
export function callerOf(claims: Claims, names: ClaimSettings): Caller {
  const partners = namesOf(claims, names.partners);
  return {
    client: clientOf(claims, names.client),
    tenants: namesOf(claims, names.tenants) ?? [],
    regions: namesOf(claims, names.regions) ?? ["*"],
    environments: namesOf(claims, names.environments) ?? ["*"],
    metrics: namesOf(claims, names.metrics) ?? ["*"],
    roles: namesOf(claims, names.roles) ?? [],
    scopes:
      names.scopes === undefined
        ? [...wordsOf(claims, "scope"), ...wordsOf(claims, "scp")]
        : wordsOf(claims, names.scopes),
    ...(partners === undefined ? {} : { partners }),
  };
}

/** A caller with what the settings grant the subject of its token. */
export function withGrant(caller: Caller, grant: SubjectGrant | undefined): Caller {
  if (grant === undefined) return caller;
  return {
    ...caller,
    tenants: [...caller.tenants, ...grant.tenants],
    roles: [...caller.roles, ...(grant.roles ?? [])],
    scopes: [...caller.scopes, ...grant.scopes],
    ...(grant.partners === undefined ? {} : { partners: [...(caller.partners ?? []), ...grant.partners] }),
  };
}

function clientOf(claims: Claims, own: string | undefined): string {
  const names = own === undefined ? ["client_id", "azp", "sub"] : [own];
  for (const name of names) {
    const value = claimOf(claims, name);
    if (value !== undefined && typeof value !== "string") throw malformed(name);
    if (value !== undefined && value !== "") return value;
  }
  throw new ApiError("token_invalid", `The token identifies no client: ${names.join(", ")} is missing.`);
}

/** The claim of this name, or the one that a name beginning with `/` points to. Source: RFC 6901. */
function claimOf(claims: Claims, name: string): unknown {
  if (!name.startsWith("/")) return claims[name];
  const segments = name
    .slice(1)
    .split("/")
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
  return segments.reduce<unknown>((value, segment) => {
    const isHolder = typeof value === "object" && value !== null && Object.hasOwn(value, segment);
    return isHolder ? (value as Claims)[segment] : undefined;
  }, claims);
}

/** A list of names, or one name; undefined when the claim is absent. */
function namesOf(claims: Claims, name: string): readonly string[] | undefined {
  const value = claimOf(claims, name);
  if (value === undefined) return undefined;
  const list: unknown = typeof value === "string" ? [value] : value;
  if (!isNameList(list)) throw malformed(name);
  return list;
}

function wordsOf(claims: Claims, name: string): readonly string[] {
  return (namesOf(claims, name) ?? []).flatMap((words) => words.split(" ")).filter((word) => word !== "");
}

function isNameList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= entriesMax && value.every((item) => typeof item === "string");
}

function malformed(name: string): ApiError {
  return new ApiError("token_invalid", `The token's ${name} claim is malformed.`);
}

/** Source: RFC 9068 §2.1. */
const accessTokenType = "at+jwt";
const prefix = /^application\//u;
const shownCharactersMax = 64;

/**
 * Rejects tokens of another type. A proof, a logout token or any other JWT of an issuer has the same signature and is
 * no access token. Types are compared exactly, so one with parameters is no access token either. A token without a
 * type, or with the plain `JWT`, does not state its purpose. Source: RFC 8725 §3.11, RFC 7515 §4.1.9.
 * @param typ the `typ` header of the token
 * @throws ApiError `token_invalid`
 */
export function requireType(typ: string | undefined, required: TokenType = "Any"): void {
  const type = typ?.toLowerCase().replace(prefix, "");
  if (type === accessTokenType) return;
  if (required === "AccessToken")
    throw new ApiError("token_invalid", "The token's typ header is not at+jwt, which the issuer's settings require.");
  if (type?.split(";", 1)[0]?.trimEnd().endsWith("+jwt") === true) {
    throw new ApiError(
      "token_invalid",
      `The token's typ header is ${type.slice(0, shownCharactersMax)}: it is not an access token.`,
    );
  }
}

/** Binding of a token, from its `cnf` claim; empty for an unbound token. Source: RFC 7800 §3. */
export interface Binding {
  /** Of a client certificate. Source: RFC 8705 §3.1. */
  readonly certificate?: Thumbprint;
  /** Thumbprint of a public key, base64url. Source: RFC 9449 §6.1. */
  readonly key?: string;
}

const thumbprintForm = /^[A-Za-z0-9_-]{43}$/u;

/** @throws ApiError `token_invalid` for an unknown binding, which would otherwise have no effect */
export function bindingOf({ cnf }: Claims): Binding {
  if (cnf === undefined) return {};
  const { "x5t#S256": certificate, jkt: key } = (typeof cnf === "object" && cnf !== null ? cnf : {}) as Readonly<
    Record<string, unknown>
  >;
  const isKnown = (certificate !== undefined || key !== undefined) && isThumbprint(certificate) && isThumbprint(key);
  if (!isKnown) {
    throw new ApiError(
      "token_invalid",
      "The token's cnf claim is not supported; supported members are x5t#S256 and jkt.",
    );
  }
  return {
    ...(certificate === undefined ? {} : { certificate: Buffer.from(certificate, "base64url") }),
    ...(key === undefined ? {} : { key }),
  };
}

function isThumbprint(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === "string" && thumbprintForm.test(value));
}

/** What a token may be bound to, by the binding that is required; each of them is enough. */
const acceptedBindings: Readonly<Record<Exclude<TokenBinding, "None">, readonly (keyof Binding)[]>> = {
  Certificate: ["certificate"],
  Key: ["key"],
  Any: ["certificate", "key"],
};
const bindingWords: Readonly<Record<keyof Binding, string>> = { certificate: "a client certificate", key: "a key" };

/** @throws ApiError `token_invalid` for a token without the required binding */
export function requireBound(binding: Binding, required: TokenBinding): void {
  if (required === "None") return;
  const accepted = acceptedBindings[required];
  if (accepted.some((name) => binding[name] !== undefined)) return;
  const to = accepted.map((name) => bindingWords[name]).join(" or ");
  throw new ApiError("token_invalid", `The token is not bound to ${to}, as this installation requires.`);
}

/** @throws ApiError `token_invalid` when the request does not show the certificate of the token */
export function requireCertificate(binding: Binding, shown: () => Thumbprint | undefined): void {
  const fault = certificateFault(binding, shown);
  if (fault !== undefined)
    throw new ApiError("token_invalid", `The token is bound to a client certificate, and ${fault}.`);
}

/** Fault of the certificate that a request shows; undefined when there is none, or when none is needed. */
export function certificateFault({ certificate }: Binding, shown: () => Thumbprint | undefined): string | undefined {
  if (certificate === undefined) return undefined;
  const own = shown();
  if (own !== undefined && own.length === certificate.length && timingSafeEqual(own, certificate)) return undefined;
  return own === undefined ? "the request has no client certificate" : "the request has a different one";
}

/** How a request sends its token. */
export type Scheme = "bearer" | "dpop";

/** A token that is bound to a key must come with a proof, never as a bearer token. Source: RFC 9449 §7.1, §7.2. */
export function requireScheme(scheme: Scheme, { key }: Binding): void {
  if (key !== undefined && scheme === "bearer") {
    throw new ApiError(
      "proof_invalid",
      "The token is bound to a key: send it as `Authorization: DPoP <token>` with a proof.",
    );
  }
  if (key === undefined && scheme === "dpop")
    throw new ApiError("token_invalid", "The token is not bound to a key: send it as `Authorization: Bearer <token>`.");
}
