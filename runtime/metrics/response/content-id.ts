import { hash } from "node:crypto";

const idLength = 22;

/**
 * The `correlation_id` of a body: a digest of everything else in it. It stays the same for as long as the content does,
 * over requests, pods and recomputations, so that the body's ETag changes only when the data does. Source: wire,
 * "Metrics".
 *
 * @returns 22 characters of base64url
 */
export function contentId(content: unknown): string {
  return hash("sha256", JSON.stringify(content), "base64url").slice(0, idLength);
}
