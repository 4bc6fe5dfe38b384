import { hash } from "node:crypto";

const traceIdLength = 32;
const spanIdLength = 16;
/** The end of a span id is the number of the attempt. */
const attemptLength = 6;

/**
 * `traceparent` of an attempt: one trace per delivery and one span per attempt. The ids are derived from the delivery,
 * so history leads to the trace and a repeated attempt keeps its span. Source: W3C Trace Context §3.2.
 */
export function traceparentOf(did: string, attempt: number): string {
  const digest = hash("sha256", `trace\n${did}\n`, "hex");
  const number = attempt.toString(16).padStart(attemptLength, "0").slice(-attemptLength);
  const spanId = digest.slice(traceIdLength, traceIdLength + spanIdLength - attemptLength) + number;
  return `00-${digest.slice(0, traceIdLength)}-${spanId}-01`;
}
