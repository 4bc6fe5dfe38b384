import { secretNamesOf } from "../../crds/checks/references.ts";
import type { Resource } from "../../crds/resource.ts";

/** Names of the Secrets of an object. An object of an earlier schema may lack any field; `compile` reports that. */
export function namesOrNone(resource: Resource): readonly string[] {
  try {
    return secretNamesOf(resource);
  } catch {
    return [];
  }
}
