import { apiVersionOf, type KubeObject, type ResourceType } from "./resource.ts";

/** Field managers of the operator: one name for each part that a separate apply writes. */
export const fieldManagers = {
  status: "heliograph-operator-status",
  /** The condition that two installations both write. */
  conflict: "heliograph-operator-conflict",
} as const;

/** Options of a server-side apply. Source: Kubernetes API reference, "Server-Side Apply". */
export interface ApplyOptions {
  readonly fieldManager: string;
  /**
   * Takes over fields that another manager owns. Without it, such a field is a `conflict`.
   *
   * @default false
   */
  readonly force?: boolean;
}

/** The HTTP request of an apply. */
interface ApplyRequest {
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Custom resources have no strategic merge, the default type of a PATCH. JSON is valid YAML, and every served version
 * supports this type, unlike `apply-patch+json`.
 */
const applyContentType = "application/apply-patch+yaml";

/**
 * Builds an apply of the object. The manager owns the fields of the object and releases all others. Fields that only
 * the server writes are not sent. A resource version is a precondition (`conflict`). So is a uid, but only for the
 * whole object (`invalid`): an apply of the status ignores it.
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
