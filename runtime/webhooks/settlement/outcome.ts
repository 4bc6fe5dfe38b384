/**
 * Why an attempt got no answer. Source: seed "Webhook Event Delivery" §3 ("network failure"), design §4.
 *
 * - `guard`: the URL or one of the addresses behind its host is not allowed; nothing was sent.
 * - `dns`: the host has no address.
 * - `connect`: refused, unreachable or no route.
 * - `connect_timeout`: look-up, TCP and TLS together took too long.
 * - `tls`: the handshake failed or the certificate is not trusted.
 * - `client_certificate`: the endpoint did not accept the certificate that was shown to it, or wants one.
 * - `reset`: the connection ended before an answer.
 * - `first_byte_timeout`: the request was sent, the head of the answer did not come in time.
 * - `timeout`: the time of the attempt ended before the request could be sent.
 * - `response_invalid`: what came back is not HTTP/1.1, or its head is too large.
 * - `token`: the token endpoint gave no token for the request; nothing was sent to the endpoint itself.
 * - `consent`: the endpoint wants to be asked and did not consent; no delivery was sent.
 * - `internal`: this side could not make the request, for example because of a header that HTTP does not allow.
 * - `backlog_full`: as much as may wait for the partner waits already; nothing was sent.
 * - `held_expired`: nothing could be sent to the partner until the delivery was too old.
 * - `partner_removed`: the partner is configured no more; nothing was sent.
 * - `aborted`: this side gave up, for example because the pod stops; the partner may have received the request.
 */
export const failureReasons = [
  "guard",
  "dns",
  "connect",
  "connect_timeout",
  "tls",
  "client_certificate",
  "reset",
  "first_byte_timeout",
  "timeout",
  "response_invalid",
  "token",
  "consent",
  "internal",
  "backlog_full",
  "held_expired",
  "partner_removed",
  "aborted",
] as const;
export type FailureReason = (typeof failureReasons)[number];

/** Milliseconds per phase. A phase that did not happen, as on a connection that was kept alive, is absent. */
export interface AttemptTimings {
  /** Look-up of the host. */
  readonly dnsMs?: number;
  /** TCP handshake. */
  readonly connectMs?: number;
  /** TLS handshake. */
  readonly tlsMs?: number;
  /** From the request's last byte handed to the connection until the head of the answer was read. */
  readonly firstByteMs?: number;
  /** From the start of the attempt until nothing more is read. */
  readonly totalMs: number;
}

/** The partner answered: the status decides, whatever became of the body. */
export interface ResponseOutcome {
  readonly kind: "response";
  readonly status: number;
  /** Lowercase names; bounded; `set-cookie` is left out. Repeated headers are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** The first bytes as text; empty when the body is compressed, since nothing is ever decompressed. */
  readonly body: string;
  /** Whether {@link body} is not the whole body. */
  readonly bodyTruncated: boolean;
  readonly timings: AttemptTimings;
}

/** There was no answer. */
export interface FailureOutcome {
  readonly kind: "failure";
  readonly reason: FailureReason;
  /** For people: an error code and what it was about. Never a secret. */
  readonly detail: string;
  readonly timings: AttemptTimings;
}

/** What came of one POST. */
export type Outcome = ResponseOutcome | FailureOutcome;

/** One word for an outcome in subjects, logs and metrics: `status_503` or a {@link FailureReason}. Subject-safe. */
export type OutcomeCode = `status_${number}` | FailureReason;

/** The {@link OutcomeCode} of an outcome. */
export function outcomeCode(outcome: Outcome): OutcomeCode {
  return outcome.kind === "response" ? `status_${outcome.status}` : outcome.reason;
}
