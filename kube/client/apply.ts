import { apiVersionOf, type KubeObject, type ResourceType, objectPath, type ObjectRef } from "./resource.ts";
import type { ApiCall } from "./call.ts";
import { KubeError } from "./kube-error.ts";

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

/** What a requested token is for. Source: Kubernetes API reference, TokenRequest v1 authentication. */
export interface TokenRequest {
  readonly audience: string;
  /** The server rejects less than ten minutes. It may issue a token of another lifetime. */
  readonly expirationSeconds: number;
}

/** A token of a service account. Never log it. */
export interface IssuedToken {
  readonly token: string;
  readonly expiresAtMs: number;
}

export const serviceAccountType: ResourceType = {
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
};

/** The request of a token. A repetition issues one more token and changes nothing. */
export function tokenCall(account: ObjectRef, { audience, expirationSeconds }: TokenRequest): ApiCall {
  return {
    method: "POST",
    path: objectPath(serviceAccountType, account, "token"),
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { audiences: [audience], expirationSeconds },
    }),
    repeatable: true,
  };
}

interface WireToken {
  readonly status?: { readonly token?: unknown; readonly expirationTimestamp?: unknown };
}

/** @throws KubeError `transient` for a response without a token, such as a proxy's error page */
export function issuedTokenOf(path: string, response: unknown): IssuedToken {
  const { token, expirationTimestamp } = (response as WireToken | null)?.status ?? {};
  const expiresAtMs = Date.parse(String(expirationTimestamp));
  if (typeof token === "string" && !Number.isNaN(expiresAtMs)) return { token, expiresAtMs };
  throw new KubeError("transient", `POST ${path}: the response has no token`, { reason: "BadAnswer" });
}
