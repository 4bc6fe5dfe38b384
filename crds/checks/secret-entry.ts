import { createHash } from "node:crypto";
import type { FieldProblem } from "../problem.ts";
import type { ResolvedRefsReason } from "../reasons.ts";

const materialDigestChars = 16;

/**
 * Secrets by `namespace/name`; their entries in base64, as in a Secret's `data`. `unreadable`: the Secret exists, and
 * its entries are unknown.
 */
export type Secrets = ReadonlyMap<string, Readonly<Record<string, string>> | "unreadable">;

/** A reference that leads nowhere, or to something that cannot be used. */
export interface ReferenceProblem extends FieldProblem {
  readonly reason: Exclude<ResolvedRefsReason, "ResolvedRefs" | "NotChecked">;
}

/** One entry of a Secret as an object names it. */
export interface EntryReference {
  /** `namespace/name` */
  readonly secret: string;
  readonly entry: string;
  /** The field that names the Secret, and the one that names the entry. */
  readonly fields: { readonly secret: string; readonly entry: string };
}

/** The bytes that a reference leads to, or why it leads nowhere. */
type FoundEntry =
  | { readonly bytes: Buffer; readonly problem?: undefined }
  | { readonly bytes?: undefined; readonly problem: ReferenceProblem };

/**
 * An entry as a field names it.
 * @param secret `namespace/name`
 * @param at the field, with the name of the Secret in `name`
 * @param entryField the member below it that names the entry
 */
export function entryReference(secret: string, entry: string, at: string, entryField = "key"): EntryReference {
  return { secret, entry, fields: { secret: `${at}.name`, entry: `${at}.${entryField}` } };
}

/** Looks up one entry. */
export function findEntry({ secret: name, entry, fields }: EntryReference, secrets: Secrets): FoundEntry {
  const problem = (field: string, reason: ReferenceProblem["reason"], words: string): FoundEntry => ({
    problem: { field, reason, message: `the Secret ${name} ${words}` },
  });
  const secret = secrets.get(name);
  if (secret === undefined) return problem(fields.secret, "SecretNotFound", "does not exist");
  if (secret === "unreadable") return problem(fields.secret, "SecretNotReadable", "cannot be read");
  const base64 = Object.hasOwn(secret, entry) ? secret[entry] : undefined;
  if (base64 === undefined) return problem(fields.entry, "SecretKeyMissing", `has no key ${entry}`);
  return { bytes: Buffer.from(base64, "base64") };
}

const secretForm = /^the Secret (?<secret>\S+)/u;

/** Names what a reference lacks: `SecretNotFound: namespace/name`, or the field. */
export function missingPart({ reason, message, field }: ReferenceProblem): string {
  return `${reason}: ${secretForm.exec(message)?.groups?.["secret"] ?? field}`;
}

/** Secret bytes with their material id. */
export interface Material {
  /**
   * `<namespace>/<Secret>/<entry>@<first 16 hex digits of digest>`: none of the three can hold a slash, and other bytes
   * are another material, so that a configuration and the bytes it means belong together however they travel.
   */
  readonly material: string;
  /** The bytes in canonical base64. */
  readonly base64: string;
  /** sha256 of the bytes, lowercase hex; compares keys without showing them. */
  readonly digest: string;
}

/** The material that some bytes of an entry are. */
export function materialOf({ secret, entry }: Pick<EntryReference, "secret" | "entry">, bytes: Buffer): Material {
  const digest = createHash("sha256").update(bytes).digest("hex");
  const material = `${secret}/${entry}@${digest.slice(0, materialDigestChars)}`;
  return { material, base64: bytes.toString("base64"), digest };
}
