import type { SigningScheme } from "../../../crds/signing-key.ts";
import { schemes, timestampHeader, type AttemptHeaders, type AttemptToSign } from "./schemes.ts";

/** One attempt and the content of its headers. Source: seed "Webhook Event Delivery" §4.1. */
export interface SignedAttempt extends AttemptToSign {
  /** The body's `attempt`; counts on across replays. */
  readonly attempt: number;
  /** The envelope's `producer`, else the installation's name. */
  readonly producer: string;
  /** Version of this program, for `User-Agent`. */
  readonly version: string;
  /** Set when the attempt belongs to a replay. */
  readonly replayId?: string;
  /** W3C trace context of the attempt. */
  readonly traceparent?: string;
  /** `WebHook-Request-Origin`, for an endpoint that is asked for consent. Source: CloudEvents web hooks §4.1.1. */
  readonly requestOrigin?: string;
  /** Fixed headers of the endpoint. They do not replace headers that are set here. */
  readonly endpointHeaders: Readonly<Record<string, string>>;
}

type Headers = Readonly<Record<string, string>>;

/** Builds the headers of one attempt, except those of HTTP itself. `X-Timestamp` is ISO 8601 UTC with milliseconds. */
export function deliveryHeaders(scheme: SigningScheme, attempt: SignedAttempt): Record<string, string> {
  const unsigned: AttemptHeaders = {
    [timestampHeader]: new Date(attempt.sentAtMs).toISOString(),
    "X-Event-Id": attempt.eventId,
    "X-Attempt": String(attempt.attempt),
    "X-Webhook-Producer": attempt.producer,
    ...(attempt.replayId === undefined ? {} : { "X-Webhook-Replay": attempt.replayId }),
    ...(attempt.traceparent === undefined ? {} : { traceparent: attempt.traceparent }),
    ...(attempt.requestOrigin === undefined ? {} : { "WebHook-Request-Origin": attempt.requestOrigin }),
    "User-Agent": `Heliograph/${attempt.version}`,
    "Content-Type": "application/json",
    // Responses are not decompressed.
    "Accept-Encoding": "identity",
  };
  return withFixedHeaders(attempt.endpointHeaders, { ...schemes[scheme].sign(attempt, unsigned), ...unsigned });
}

/** Adds the fixed headers whose names, in any case, are not among the sender's own. */
export function withFixedHeaders(fixed: Headers, own: Headers): Record<string, string> {
  const entries = Object.entries(fixed);
  if (entries.length === 0) return own;
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  return { ...Object.fromEntries(entries.filter(([name]) => !taken.has(name.toLowerCase()))), ...own };
}
