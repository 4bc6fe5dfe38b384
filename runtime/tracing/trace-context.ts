// Traces: W3C trace context, sampling, spans, exemplars, and the export by OTLP. The spans of each half are in its
// `telemetry/`.

/** A span in its trace, as requests name it. Source: W3C Trace Context §3.2. */
export interface SpanContext {
  /** 32 lowercase hexadecimal digits. */
  readonly traceId: string;
  /** 16 lowercase hexadecimal digits. */
  readonly spanId: string;
  /** False: the spans of this trace are not exported. */
  readonly isSampled: boolean;
}

/** Ids of zeros are not valid, and the version ff is none. A later version may have more fields. */
const form = new RegExp(
  [
    "^(?<version>(?!ff)[0-9a-f]{2})",
    "(?<traceId>(?!0{32})[0-9a-f]{32})",
    "(?<spanId>(?!0{16})[0-9a-f]{16})",
    "(?<flags>[0-9a-f]{2})(?<rest>-.*)?$",
  ].join("-"),
  "u",
);
const sampledFlag = 1;

interface Fields extends Omit<SpanContext, "isSampled"> {
  readonly version: string;
  readonly flags: string;
  readonly rest?: string;
}

/** Parses a `traceparent`; undefined for an absent or invalid one. */
export function parseTraceparent(text = ""): SpanContext | undefined {
  const fields = form.exec(text)?.groups as Fields | undefined;
  if (fields === undefined || (fields.version === "00" && fields.rest !== undefined)) return undefined;
  const { traceId, spanId, flags } = fields;
  return { traceId, spanId, isSampled: Number.parseInt(flags, 16) % 2 === sampledFlag };
}

/** The `traceparent` of a span. */
export function traceparentOf({ traceId, spanId, isSampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** The last 7 bytes of a trace id are random. Source: W3C Trace Context Level 2 §3.2.2.3. */
const randomDigits = 14;
const randomValues = 2 ** 56;

/** Whether a trace without a parent is sampled. All pods decide equally, because the trace id decides. */
export function isInRatio(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-randomDigits), 16) >= (1 - ratio) * randomValues;
}
