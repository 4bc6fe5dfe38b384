import { createHash } from "node:crypto";
import type { ResourceOrigin } from "../config.ts";
import { apiVersion, type Resource } from "../resource.ts";
import { digestOf } from "./canonical-json.ts";

/** Which object a part of the configuration came from. */
export function originOf(resource: Resource): ResourceOrigin {
  const { namespace, name, generation } = resource.metadata;
  return { uid: uidOf(resource), namespace, name, generation: generation ?? 1, specDigest: digestOf(resource.spec) };
}

/**
 * The uid of an object. Without a cluster it is a UUID of version 8 made from the sha256 of
 * `heliograph.dev/v1alpha1/<kind>/<namespace>/<name>`: the same object has the same uid in every run.
 */
export function uidOf({ kind, metadata }: Pick<Resource, "kind" | "metadata">): string {
  const { uid, namespace, name } = metadata;
  if (uid !== undefined) return uid;
  const hex = createHash("sha256").update(`${apiVersion}/${kind}/${namespace}/${name}`).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}
