import type { ClaimSettings, SubjectGrant } from "../../config/settings/settings.ts";
import { Refusal } from "../../errors/refusal.ts";
import type { Caller } from "../../metrics/authorization/caller.ts";

/** Claims of a verified token. */
export type Claims = Readonly<Record<string, unknown>>;

const entriesMax = 1024;

/**
 * The caller that a verified token names. Without their claims, regions, environments and metrics are `*`, tenants and
 * roles are empty, and partners stay absent (every partner). Scopes come from `scope` (a string) and `scp` (a list or a
 * string) when the settings name no claim. Source: RFC 8693 §4.2, RFC 9068.
 * @throws Refusal `token_invalid` for a claim of another shape, and for a token that names no client
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
  throw new Refusal("token_invalid", `The token names no client: it lacks ${names.join(", ")}.`);
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

function malformed(name: string): Refusal {
  return new Refusal("token_invalid", `The claim ${name} of the token has an unexpected shape.`);
}
