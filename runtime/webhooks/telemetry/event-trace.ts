import { hash } from "node:crypto";
import { parseTraceparent } from "../../tracing/trace-context.ts";

/** The trace of an event, with the spans that a pod knows without having made them. */
export interface EventTrace {
  readonly traceId: string;
  readonly isSampled: boolean;
  readonly ingestSpanId: string;
  readonly routeSpanId: string;
}

/** An event or a delivery of it. `trace`: the caller's trace, as {@link storedTrace} writes it. */
export interface TracedEvent {
  readonly eventId: string;
  readonly trace?: string | undefined;
}

const storedForm = /^(?<traceId>[0-9a-f]{32})-(?<flags>0[01])$/u;

/**
 * The trace of an event: the caller's, or one derived from the event id. So the id of an event leads to its trace, and
 * most events store none. The span ids are derived too: pods name the spans of others as parents.
 *
 * @param samples decides about traces without a caller's
 */
export function eventTraceOf({ eventId, trace }: TracedEvent, samples: (traceId: string) => boolean): EventTrace {
  const digest = hash("sha256", `trace\n${eventId}`, "hex");
  const spanIds = { ingestSpanId: digest.slice(32, 48), routeSpanId: digest.slice(48) };
  const { traceId, flags } = storedForm.exec(trace ?? "")?.groups ?? {};
  if (traceId !== undefined) return { traceId, isSampled: flags === "01", ...spanIds };
  const own = digest.slice(0, 32);
  return { traceId: own, isSampled: samples(own), ...spanIds };
}

/** The caller's trace in the form that an event stores; undefined without a valid `traceparent`. */
export function storedTrace(traceparent: string | undefined): string | undefined {
  const caller = parseTraceparent(traceparent);
  return caller && `${caller.traceId}-${caller.isSampled ? "01" : "00"}`;
}

/** The end of a span id is the number of the attempt. */
const attemptLength = 6;
const prefixLength = 16 - attemptLength;

/** Span ids of an attempt and of its request. A repeated attempt has the same ones. */
export function attemptSpanIds(did: string, attempt: number): { readonly attempt: string; readonly request: string } {
  const digest = hash("sha256", `trace\n${did}\n`, "hex");
  const number = attempt.toString(16).padStart(attemptLength, "0").slice(-attemptLength);
  return { attempt: digest.slice(0, prefixLength) + number, request: digest.slice(32, 32 + prefixLength) + number };
}
