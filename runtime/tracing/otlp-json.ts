import { spanKinds, type EndedSpan, type SpanAttributes } from "./tracer.ts";

/** The program that exports, as collectors show it. */
export interface SpanSource {
  readonly service: string;
  /** Unique among the processes of the service. */
  readonly instance: string;
  /** Version of this program. */
  readonly version: string;
}

const failedStatus = 2;
const scope = "heliograph";

/**
 * The body of an export request in JSON. Texts are joined, since a tree of objects costs twice the CPU. Source: OTLP
 * 1.10 §"JSON Protobuf Encoding".
 */
export function otlpBody({ service, instance, version }: SpanSource, spans: readonly EndedSpan[]): string {
  const resource = { "service.name": service, "service.instance.id": instance, "service.version": version };
  const own = `{"name":"${scope}","version":${JSON.stringify(version)}}`;
  const scopeSpans = `[{"scope":${own},"spans":[${spans.map(otlpSpan).join(",")}]}]`;
  return `{"resourceSpans":[{"resource":{"attributes":${otlpAttributes(resource)}},"scopeSpans":${scopeSpans}}]}`;
}

function otlpSpan({
  traceId,
  spanId,
  parentSpanId,
  name,
  kind,
  startMs,
  endMs,
  attributes,
  failure,
}: EndedSpan): string {
  const parent = parentSpanId === undefined ? "" : `"parentSpanId":"${parentSpanId}",`;
  const status = failure === undefined ? "" : `,"status":{"code":${failedStatus},"message":${JSON.stringify(failure)}}`;
  const start = `"startTimeUnixNano":"${nanoseconds(startMs)}"`;
  const end = `"endTimeUnixNano":"${nanoseconds(Math.max(startMs, endMs))}"`;
  const ids = `"traceId":"${traceId}","spanId":"${spanId}",${parent}"name":"${name}","kind":${spanKinds[kind]}`;
  return `{${ids},${start},${end},"attributes":${otlpAttributes(attributes)}${status}}`;
}

/** JSON has 64-bit integers as texts. A double holds the microseconds of the time, but not its nanoseconds. */
function nanoseconds(ms: number): string {
  return `${Math.floor(ms * 1_000)}000`;
}

function otlpAttributes(attributes: SpanAttributes): string {
  let text = "";
  for (const key in attributes) {
    const value = attributes[key];
    if (value !== undefined) text += `${text === "" ? "" : ","}{"key":"${key}","value":${valueOf(value)}}`;
  }
  return `[${text}]`;
}

function valueOf(value: string | number): string {
  if (typeof value === "string") return `{"stringValue":${JSON.stringify(value)}}`;
  return Number.isInteger(value) ? `{"intValue":"${value}"}` : `{"doubleValue":${value}}`;
}
