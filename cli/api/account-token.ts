import type { IssuedToken } from "../../kube/client/token-request.ts";

/** Times of a token of a service account. */
export const tokenSeconds = 600;
const renewBeforeMs = 60_000;

/**
 * Keeps a token until a minute before it expires, and requests the next one then.
 *
 * @param request fails with a KubeError
 */
export function keptToken(request: () => Promise<IssuedToken>, nowMs: () => number): () => Promise<string> {
  let kept: Promise<IssuedToken> | undefined;
  return async () => {
    const current = await kept?.catch(() => undefined);
    if (current !== undefined && nowMs() < current.expiresAtMs - renewBeforeMs) return current.token;
    kept = request();
    return (await kept).token;
  };
}
