import { parseTraceparent, traceparentOf } from "../../tracing/trace-context.ts";
import { newSpanId, type Tracer } from "../../tracing/tracer.ts";
import { attemptNumber, type DeliveryRecord } from "../records/delivery-record.ts";
import { outcomeCode, type AttemptOutcome } from "../settlement/outcome.ts";
import type { Settlement } from "../settlement/settle.ts";
import { hash } from "node:crypto";

/** Spans of an event: `ingest` → `route` → `attempt` → `partner`. Without a tracer nothing is measured or kept. */
export interface DeliverySpans {
  /** Starts the span of an ingest request. @param traceparent of the caller */
  ingest(traceparent: string | undefined): IngestSpan;
  /** Starts the span of a routing. */
  route(event: SpannedEvent): RouteSpan;
  /** Starts the span of an attempt. @param partner label of the partner */
  attempt(delivery: DeliveryRecord, partner: string): AttemptSpan;
}

/** An event whose tenant and type a span names. */
interface SpannedEvent extends TracedEvent {
  readonly tenant: string;
  readonly type: string;
}

export interface IngestSpan {
  /** The caller's trace, for the stored event. */
  readonly trace: string | undefined;
  /** @param outcome as in the metric; `stored` makes this span the parent of the others */
  end(event: SpannedEvent, outcome: string): void;
}

interface RouteSpan {
  /** @param deliveries published ones */
  end(deliveries: number): void;
}

export interface AttemptSpan {
  /** Of the request to the partner. */
  readonly traceparent: string;
  /** Trace id if the trace is sampled, for exemplars. */
  readonly sampledTraceId: string | undefined;
  /** The request has ended. */
  sent(url: URL, outcome: AttemptOutcome): void;
  /** The settlement is applied. */
  end(settlement: Settlement): void;
}

const noRoute: RouteSpan = { end: () => undefined };
const noIngest: IngestSpan = { trace: undefined, end: () => undefined };

/** The trace of an event, with the spans that a pod knows without having made them. */
interface EventTrace {
  readonly traceId: string;
  readonly isSampled: boolean;
  readonly ingestSpanId: string;
  readonly routeSpanId: string;
}

/** An event or a delivery of it. `trace`: the caller's trace, as {@link storedTrace} writes it. */
interface TracedEvent {
  readonly eventId: string;
  readonly trace?: string | undefined;
}

const storedForm = /^(?<traceId>[0-9a-f]{32})-(?<flags>0[01])$/u;

/** @param tracer undefined: requests carry a `traceparent`, and there are no spans */
export function createDeliverySpans(tracer: Tracer | undefined): DeliverySpans {
  if (tracer === undefined) return withoutSpans;
  return {
    ingest: (traceparent) => ingestSpan(tracer, traceparent),
    route: (event) => routeSpan(tracer, event),
    attempt: (delivery, partner) => attemptSpan(tracer, delivery, partner),
  };
}

const withoutSpans: DeliverySpans = {
  ingest: () => noIngest,
  route: () => noRoute,
  attempt: (delivery) => ({ ...plainAttempt(delivery, () => true), sampledTraceId: undefined }),
};

/** An attempt without spans. */
function plainAttempt(delivery: DeliveryRecord, samples: Tracer["samples"]) {
  const trace = eventTraceOf(delivery, samples);
  const ids = attemptSpanIds(delivery.did, attemptNumber(delivery));
  const { traceId, isSampled } = trace;
  const traceparent = traceparentOf({ traceId, spanId: ids.request, isSampled });
  return { trace, ids, traceparent, sent: () => undefined, end: () => undefined };
}

function ingestSpan(tracer: Tracer, traceparent: string | undefined): IngestSpan {
  const startMs = tracer.nowMs();
  const trace = storedTrace(traceparent);
  return {
    trace,
    end: (event, outcome) => {
      const { traceId, isSampled, ingestSpanId } = eventTraceOf({ ...event, trace }, tracer.samples);
      if (!isSampled) return;
      const isStored = outcome === "stored";
      const isHealthy = isStored || outcome === "duplicate";
      tracer.add({
        traceId,
        // Another request for the same event must not take the place of the one that stored it.
        spanId: isStored ? ingestSpanId : newSpanId(),
        parentSpanId: parseTraceparent(traceparent)?.spanId,
        name: "ingest",
        kind: "server",
        startMs,
        endMs: tracer.nowMs(),
        attributes: { ...eventAttributes(event), "heliograph.outcome": outcome },
        failure: isHealthy ? undefined : outcome,
      });
    },
  };
}

function routeSpan(tracer: Tracer, event: SpannedEvent): RouteSpan {
  const { traceId, isSampled, ingestSpanId, routeSpanId } = eventTraceOf(event, tracer.samples);
  if (!isSampled) return noRoute;
  const startMs = tracer.nowMs();
  return {
    end: (deliveries) =>
      tracer.add({
        traceId,
        spanId: routeSpanId,
        parentSpanId: ingestSpanId,
        name: "route",
        kind: "consumer",
        startMs,
        endMs: tracer.nowMs(),
        attributes: { ...eventAttributes(event), "heliograph.deliveries": deliveries },
      }),
  };
}

function attemptSpan(tracer: Tracer, delivery: DeliveryRecord, partner: string): AttemptSpan {
  const { trace, ids, ...plain } = plainAttempt(delivery, tracer.samples);
  const { traceId, isSampled, routeSpanId } = trace;
  if (!isSampled) return { ...plain, sampledTraceId: undefined };
  const startMs = tracer.nowMs();
  const attributes = {
    ...eventAttributes(delivery),
    "heliograph.partner": partner,
    "heliograph.attempt": attemptNumber(delivery),
  };
  return {
    traceparent: plain.traceparent,
    sampledTraceId: traceId,
    sent: (url, outcome) => {
      const endMs = tracer.nowMs();
      const times = { startMs: endMs - outcome.timings.totalMs, endMs };
      const place = { traceId, spanId: ids.request, parentSpanId: ids.attempt };
      tracer.add({ ...place, ...times, name: "partner", kind: "client", ...requestFields(url, outcome) });
    },
    end: ({ kind }) => {
      const place = { traceId, spanId: ids.attempt, parentSpanId: routeSpanId };
      const times = { startMs, endMs: tracer.nowMs() };
      const failure = kind === "delivered" ? undefined : kind;
      const own = { ...attributes, "heliograph.outcome": kind };
      tracer.add({ ...place, ...times, name: "attempt", kind: "internal", attributes: own, failure });
    },
  };
}

/** The path of an endpoint may hold a secret, so that only its host is named. */
function requestFields({ hostname }: URL, outcome: AttemptOutcome) {
  const status = outcome.kind === "response" ? outcome.status : undefined;
  return {
    attributes: { "http.request.method": "POST", "server.address": hostname, "http.response.status_code": status },
    failure: status !== undefined && status < 400 ? undefined : outcomeCode(outcome),
  };
}

function eventAttributes({ eventId, tenant, type }: SpannedEvent) {
  return { "heliograph.event.id": eventId, "heliograph.tenant": tenant, "heliograph.event.type": type };
}

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
