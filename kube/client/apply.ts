import { type KubeObject, type ResourceType, apiVersionOf } from "./resource.ts";

/** Who owns the fields that the operator writes: one name for each part that is written apart from the others. */
export const fieldManagers = {
  status: "heliograph-operator-status",
  /** The one condition that two installations both write. */
  conflict: "heliograph-operator-conflict",
} as const;

/** How a server-side apply behaves. Source: Kubernetes API reference, "Server-Side Apply". */
export interface ApplyOptions {
  readonly fieldManager: string;
  /**
   * Take fields over that another manager owns. Without it, such a field is a `conflict`.
   *
   * @default false
   */
  readonly force?: boolean;
}

/** What goes over the wire for an apply. */
interface ApplyRequest {
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * A custom resource takes no strategic merge, which is what a PATCH without this type would ask for. JSON is YAML, and
 * unlike `apply-patch+json` every served version knows this one.
 */
const applyContentType = "application/apply-patch+yaml";

/**
 * An apply of the object as it is given: every field in it is wanted, every field left out is given up; what only the
 * server may write is not sent. A resource version in it is a precondition (`conflict`). So is a uid, but only for the
 * whole object (`invalid`): an apply of the status does not look at it.
 *
 * @throws TypeError when the object has no name
 */
export function applyRequest(type: ResourceType, object: KubeObject, options: ApplyOptions): ApplyRequest {
  const { name } = object.metadata;
  if (name === undefined || name === "") throw new TypeError(`an apply of ${type.plural} needs metadata.name`);
  const {
    managedFields: _managed,
    creationTimestamp: _created,
    generation: _generation,
    ...metadata
  } = object.metadata;
  return {
    query: { fieldManager: options.fieldManager, ...(options.force === true ? { force: "true" } : {}) },
    headers: { "content-type": applyContentType },
    body: JSON.stringify({ ...object, apiVersion: apiVersionOf(type), kind: type.kind, metadata }),
  };
}
