import { hmacRows } from "./hmac-rows.ts";
import { httpVectors, keyVectors } from "./http-rows.ts";
import { messageRows } from "./message-rows.ts";
import { standardRows } from "./standard-rows.ts";
import { vectorOf, type Vector } from "./vector-rows.ts";

/** The published vectors. */
export const vectorsFile = new URL("../../docs/recipients/vectors.json", import.meta.url);

/** Every published vector. */
export const vectors: readonly Vector[] = [...hmacRows, ...standardRows, ...messageRows].map(vectorOf);

/** Text of {@link vectorsFile}. */
export function vectorsText(): string {
  return `${JSON.stringify({ format: 1, vectors, http: httpVectors, keys: keyVectors }, null, 2)}\n`;
}
