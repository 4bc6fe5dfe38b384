import { hash } from "node:crypto";

const idLength = 22;

/**
 * The `correlation_id` of a body: a digest of everything else in it. Equal contents have equal ids in all pods and
 * requests, so that the ETag of a body changes with its data only.
 *
 * @returns 22 characters of base64url
 */
export function contentId(content: unknown): string {
  return hash("sha256", JSON.stringify(content), "base64url").slice(0, idLength);
}
