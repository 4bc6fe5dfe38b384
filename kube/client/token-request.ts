import type { Call } from "./call.ts";
import { KubeError } from "./kube-error.ts";
import { objectPath, type ObjectRef, type ResourceType } from "./resource.ts";

/** What a requested token is for. Source: Kubernetes API reference, TokenRequest v1 authentication. */
export interface TokenRequest {
  readonly audience: string;
  /** The server refuses less than ten minutes. It may issue a token of another lifetime. */
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
export function tokenCall(account: ObjectRef, { audience, expirationSeconds }: TokenRequest): Call {
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
export function issuedTokenOf(path: string, answer: unknown): IssuedToken {
  const { token, expirationTimestamp } = (answer as WireToken | null)?.status ?? {};
  const expiresAtMs = Date.parse(String(expirationTimestamp));
  if (typeof token === "string" && !Number.isNaN(expiresAtMs)) return { token, expiresAtMs };
  throw new KubeError("transient", `POST ${path}: the response has no token`, { reason: "BadAnswer" });
}
