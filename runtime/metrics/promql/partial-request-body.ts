import { hash } from "node:crypto";
import { type PartialTimes, questionVersion } from "../../../api/peers.ts";

/** Builds the body of a question. @param question as printed; it is the key of cached responses */
export function partialRequestBody(question: string, over: PartialTimes): string {
  return `{"version":${questionVersion},"ask":${question},"over":${JSON.stringify(over)}}`;
}

/** Builds the body that only asks for the capabilities of a peer in a region. */
export function probeBody(probe: { readonly region: string }): string {
  return JSON.stringify({ version: questionVersion, probe });
}

/** The digest that binds a response to its question. */
export function partialRequestKey(body: string | Uint8Array): string {
  return hash("sha256", body, "base64url");
}
