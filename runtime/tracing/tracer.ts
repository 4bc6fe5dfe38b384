import { randomBytes } from "node:crypto";
import { isInRatio, parseTraceparent, type SpanContext } from "./trace-context.ts";

/** Kinds of spans, with their numbers. Source: OTLP, `trace.proto`, `SpanKind`. */
export const spanKinds = { internal: 1, server: 2, client: 3, consumer: 5 } as const;

/** Values by name. Names follow OpenTelemetry's semantic conventions where these have one. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/** A span that has ended. */
export interface EndedSpan extends Pick<SpanContext, "traceId" | "spanId"> {
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: keyof typeof spanKinds;
  /** Unix milliseconds, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  /** Code of the failure; undefined for a success. */
  readonly failure?: string | undefined;
}

/** Samples traces and takes spans. */
export interface Tracer {
  /** Unix milliseconds with fractions, of a clock that never goes back. */
  readonly nowMs: () => number;
  /** Whether a trace without a parent is sampled. */
  readonly samples: (traceId: string) => boolean;
  /** Takes a span of a sampled trace. It never waits and never throws. */
  readonly add: (span: EndedSpan) => void;
}

/** @param ratio share of the traces without a parent that are sampled, from 0 to 1 */
export function createTracer(ratio: number, add: Tracer["add"]): Tracer {
  return {
    nowMs: () => performance.timeOrigin + performance.now(),
    samples: (traceId) => isInRatio(traceId, ratio),
    add,
  };
}

/** A span that has started. */
export interface StartedSpan {
  readonly context: SpanContext;
  /** Starts a span below this one. */
  child(name: string, kind: EndedSpan["kind"]): StartedSpan;
  /** Gives the span to the tracer if its trace is sampled. */
  end(attributes: SpanAttributes, failure?: string): void;
}

/** Starts a span below the caller's, or in a new trace if the caller names none. */
export function startSpan(
  tracer: Tracer,
  name: string,
  kind: EndedSpan["kind"],
  traceparent: string | undefined,
): StartedSpan {
  const parent = parseTraceparent(traceparent);
  const traceId = parent?.traceId ?? newId(traceIdBytes);
  const isSampled = parent?.isSampled ?? tracer.samples(traceId);
  return spanBelow(tracer, { traceId, spanId: parent?.spanId, isSampled }, name, kind);
}

interface Parent extends Omit<SpanContext, "spanId"> {
  readonly spanId: string | undefined;
}

function spanBelow(tracer: Tracer, parent: Parent, name: string, kind: EndedSpan["kind"]): StartedSpan {
  const { traceId, isSampled } = parent;
  const startMs = tracer.nowMs();
  const context = { traceId, isSampled, spanId: newId(spanIdBytes) };
  return {
    context,
    child: (childName, childKind) => spanBelow(tracer, context, childName, childKind),
    end: (attributes, failure) => {
      if (!isSampled) return;
      const times = { startMs, endMs: tracer.nowMs() };
      tracer.add({ ...context, ...times, parentSpanId: parent.spanId, name, kind, attributes, failure });
    },
  };
}

const traceIdBytes = 16;
const spanIdBytes = 8;

function newId(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}

/** An id for a span that no other pod has to know. */
export function newSpanId(): string {
  return newId(spanIdBytes);
}
