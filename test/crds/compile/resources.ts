import { createHash } from "node:crypto";
import { allowAll, type InstallationPolicy } from "../../../crds/policy.ts";
import { compile } from "../../../crds/compile/compile.ts";
import type { ResourceResult } from "../../../crds/compile/resource-result.ts";
import type { RuntimeConfig } from "../../../crds/config.ts";
import type { Kind, ObjectMeta, Resource } from "../../../crds/resource.ts";
import { plainObject, type Changes } from "../valid-objects.ts";

/** An object of the kind as it comes from a folder or the API server; not validated. */
export function resourceOf(kind: Kind, changes: Changes = {}, metadata: Partial<ObjectMeta> = {}): Resource {
  const plain = plainObject(kind, changes);
  return { ...plain, metadata: { ...plain.metadata, ...metadata } } as unknown as Resource;
}

/** A Secret entry of 32 bytes that repeat one. */
export function keyOf(byte: number): string {
  return Buffer.alloc(32, byte).toString("base64");
}

/** The material id of a Secret entry with these bytes. */
export function materialOf(entry: string, base64: string): string {
  const digest = createHash("sha256").update(Buffer.from(base64, "base64")).digest("hex");
  return `${entry}@${digest.slice(0, 16)}`;
}

/** The Secret that the valid partner refers to. */
export const partnerSecrets: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map([
  ["default/partner", { hmac: keyOf(1), old: keyOf(2) }],
]);

/** Compiles with the Secrets that are given, else the valid partner's, and everything allowed. */
export function compiled(
  resources: readonly Resource[],
  secrets = partnerSecrets,
  policy: InstallationPolicy = allowAll,
): { readonly config: RuntimeConfig; readonly results: readonly ResourceResult[] } {
  return compile({ resources, secrets, policy });
}

/** The first of what must be there. */
export function first<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined) throw new Error("there is none");
  return item;
}
