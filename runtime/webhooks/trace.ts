import { hash } from "node:crypto";

const traceIdLength = 32;
const spanIdLength = 16;

/**
 * `traceparent` of an attempt: one trace per delivery of an event to a partner, so that its attempts and what the recipient
 * makes of them are found together, and one span per attempt. Derived, so that history leads to the trace and a repeat of one
 * attempt stays in its span. Source: W3C Trace Context §3.2.
 */
export function traceparentOf(did: string, attempt: number): string {
  const traceId = hash("sha256", `trace\n${did}`, "hex").slice(0, traceIdLength);
  const spanId = hash("sha256", `span\n${did}\n${attempt}`, "hex").slice(0, spanIdLength);
  return `00-${traceId}-${spanId}-01`;
}
