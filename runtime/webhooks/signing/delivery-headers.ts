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
    "User-Agent": `Heliograph/${attempt.version}`,
    "Content-Type": "application/json",
    // Responses are not decompressed.
    "Accept-Encoding": "identity",
  };
  const own = { ...schemes[scheme].sign(attempt, unsigned), ...unsigned };
  const { endpointHeaders } = attempt;
  return Object.keys(endpointHeaders).length === 0 ? own : { ...fixedHeaders(endpointHeaders, own), ...own };
}

/** Headers of the endpoint whose name, in any case, is not taken. */
function fixedHeaders(endpointHeaders: Headers, own: Headers): Headers {
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  return Object.fromEntries(Object.entries(endpointHeaders).filter(([name]) => !taken.has(name.toLowerCase())));
}
