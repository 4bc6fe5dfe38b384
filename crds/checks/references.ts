import { createHash } from "node:crypto";
import type { FieldProblem } from "../problem.ts";
import type { ResolvedRefsReason } from "../reasons.ts";
import type { Resource, WebhookPartner } from "../resource.ts";

/** Fewest bytes of a signing key. Source: wire, "Keys ≥ 32 bytes". */
export const keyBytesMin = 32;

const materialDigestChars = 16;

/**
 * Secrets by `namespace/name`; their entries in base64, as in a Secret's `data`. `unreadable`: there is such a Secret, and
 * nobody knows what it holds.
 */
export type Secrets = ReadonlyMap<string, Readonly<Record<string, string>> | "unreadable">;

/** One signing key whose bytes were found. */
export interface ResolvedKey {
  /** Place of the key in `spec.signing.keys`. */
  readonly index: number;
  /**
   * `<namespace>/<Secret>/<entry>@<first 16 hex digits of digest>`: none of the three can hold a slash, and other bytes are
   * another material, so that a configuration and the key it means belong together however they travel.
   */
  readonly material: string;
  /** The key bytes in canonical base64. */
  readonly base64: string;
  /** sha256 of the key bytes, lowercase hex; tells keys apart without showing them. */
  readonly digest: string;
}

/** A reference that leads nowhere, or to something that cannot be used. */
export interface ReferenceProblem extends FieldProblem {
  readonly reason: Exclude<ResolvedRefsReason, "ResolvedRefs" | "NotChecked">;
}

/** What the references of an object lead to. */
export interface References {
  readonly keys: readonly ResolvedKey[];
  readonly problems: readonly ReferenceProblem[];
  readonly warnings: readonly string[];
}

/** Looks up what a resource refers to; only partners refer to anything outside themselves. */
export function resolveReferences(resource: Resource, secrets: Secrets): References {
  if (resource.kind !== "WebhookPartner") return { keys: [], problems: [], warnings: [] };
  const found = resource.spec.signing.keys.map((_key, index) => resolveKey(resource, index, secrets));
  return {
    keys: found.flatMap(({ keys }) => keys),
    problems: found.flatMap(({ problems }) => problems),
    warnings: found.flatMap(({ warnings }) => warnings),
  };
}

/** `namespace/name` of every Secret that a resource refers to; of one that is invalid, none. */
export function secretNamesOf({ kind, metadata, spec }: Resource): readonly string[] {
  return kind === "WebhookPartner" ? spec.signing.keys.map(({ secretRef }) => `${metadata.namespace}/${secretRef.name}`) : [];
}

function resolveKey({ metadata, spec }: WebhookPartner, index: number, secrets: Secrets): References {
  const { id, secretRef } = spec.signing.keys[index] ?? { id: "", secretRef: { name: "", key: "" } };
  const secretName = `${metadata.namespace}/${secretRef.name}`;
  const field = `spec.signing.keys[${index}].secretRef`;
  const refused = (problem: ReferenceProblem): References => ({ keys: [], problems: [problem], warnings: [] });

  const secret = secrets.get(secretName);
  if (secret === undefined) {
    return refused({ field: `${field}.name`, reason: "SecretNotFound", message: `there is no Secret ${secretName}` });
  }
  if (secret === "unreadable") {
    return refused({ field: `${field}.name`, reason: "SecretNotReadable", message: `the Secret ${secretName} cannot be read` });
  }
  const entry = Object.hasOwn(secret, secretRef.key) ? secret[secretRef.key] : undefined;
  if (entry === undefined) {
    const message = `the Secret ${secretName} has no entry ${secretRef.key}`;
    return refused({ field: `${field}.key`, reason: "SecretKeyMissing", message });
  }
  const bytes = Buffer.from(entry, "base64");
  if (bytes.length < keyBytesMin) {
    const message = `the signing key ${id} has ${bytes.length} bytes, fewer than ${keyBytesMin}`;
    return refused({ field: `${field}.key`, reason: "KeyTooShort", message });
  }
  const digest = createHash("sha256").update(bytes).digest("hex");
  const material = `${secretName}/${secretRef.key}@${digest.slice(0, materialDigestChars)}`;
  const key = { index, material, base64: bytes.toString("base64"), digest };
  return { keys: [key], problems: [], warnings: lineFeedWarnings(id, bytes) };
}

/** A file that an editor saved ends with a line feed, which recipients that read the key from elsewhere do not have. */
function lineFeedWarnings(id: string, bytes: Uint8Array): readonly string[] {
  return bytes.at(-1) === 0x0a ? [`the signing key ${id} ends with a line feed, which is part of the key`] : [];
}
