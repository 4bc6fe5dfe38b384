import { hash } from "node:crypto";

const traceIdLength = 32;
const spanIdLength = 16;
/** The end of a span id tells the attempt. */
const attemptLength = 6;

/**
 * `traceparent` of an attempt: one trace per delivery of an event to a partner, so that its attempts and what the
 * recipient makes of them are found together, and one span per attempt. Derived, so that history leads to the trace and
 * a repeat of one attempt stays in its span. Source: W3C Trace Context §3.2.
 */
export function traceparentOf(did: string, attempt: number): string {
  const digest = hash("sha256", `trace\n${did}\n`, "hex");
  const number = attempt.toString(16).padStart(attemptLength, "0").slice(-attemptLength);
  const spanId = digest.slice(traceIdLength, traceIdLength + spanIdLength - attemptLength) + number;
  return `00-${digest.slice(0, traceIdLength)}-${spanId}-01`;
}
