/**
 * Why an attempt got no response. Source: seed "Webhook Event Delivery" §3 ("network failure").
 *
 * - `guard`: the URL or an address of its host is not allowed; nothing was sent.
 * - `dns`: the host has no address.
 * - `connect`: refused, unreachable or no route.
 * - `connect_timeout`: DNS look-up, TCP and TLS together exceeded their time.
 * - `tls`: the handshake failed or the certificate is not trusted.
 * - `client_certificate`: the endpoint rejected the client certificate, or requires one.
 * - `reset`: the connection ended before a response.
 * - `first_byte_timeout`: the request was sent, but the status of the response did not arrive in time.
 * - `timeout`: the time of the attempt ended before the request could be sent.
 * - `response_invalid`: the response is not HTTP/1.1, or its head is too large.
 * - `token`: the token endpoint issued no token; nothing was sent to the endpoint itself.
 * - `consent`: the validation of the endpoint failed; no delivery was sent.
 * - `internal`: this side could not build the request, for example because HTTP does not allow a header.
 * - `backlog_full`: the backlog of the partner has reached its limit; nothing was sent.
 * - `held_expired`: the partner was held, disabled or paused by its circuit breaker until the delivery exceeded its
 *   maximum age; nothing was sent.
 * - `partner_removed`: the partner is no longer configured; nothing was sent.
 * - `aborted`: this side aborted, for example because the pod stops; the partner may have received the request.
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

/** Milliseconds per phase. A phase that did not happen is absent, for example on a reused connection. */
export interface AttemptTimings {
  /** DNS look-up of the host. */
  readonly dnsMs?: number;
  /** TCP handshake. */
  readonly connectMs?: number;
  /** TLS handshake. */
  readonly tlsMs?: number;
  /** From the last byte of the request to the end of the response head. */
  readonly firstByteMs?: number;
  /** From the start of the attempt to the end of reading. */
  readonly totalMs: number;
}

/** The partner responded. The status alone decides; an error in the body changes nothing. */
export interface ResponseOutcome {
  readonly kind: "response";
  readonly status: number;
  /** Bounded; names are lowercase; `set-cookie` is left out. Repeated headers are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** The first bytes as text. Empty when the body is compressed: responses are not decompressed. */
  readonly body: string;
  /** Whether {@link body} lacks a part of the body. */
  readonly bodyTruncated: boolean;
  readonly timings: AttemptTimings;
  /** Faults that did not decide the outcome, each with the name of its header. @default none */
  readonly warnings?: readonly string[];
}

/** The attempt got no response. */
export interface FailureOutcome {
  readonly kind: "failure";
  readonly reason: FailureReason;
  /** For the log: an error code and its subject. Never a secret. */
  readonly detail: string;
  readonly timings: AttemptTimings;
  /** `Retry-After` of the response to the request for a token or for consent. @default none */
  readonly retryAfterMs?: number;
  /** As in {@link ResponseOutcome}. */
  readonly warnings?: readonly string[];
}

/** Outcome of one attempt. */
export type AttemptOutcome = ResponseOutcome | FailureOutcome;

/** One word for an outcome in subjects, logs and metrics: `status_503` or a {@link FailureReason}. Subject-safe. */
export type OutcomeCode = `status_${number}` | FailureReason;

/** The {@link OutcomeCode} of an outcome. */
export function outcomeCode(
  outcome: Pick<ResponseOutcome, "kind" | "status"> | Pick<FailureOutcome, "kind" | "reason">,
): OutcomeCode {
  return outcome.kind === "response" ? `status_${outcome.status}` : outcome.reason;
}

/** Sentences for callers. They contain no addresses and no DNS responses. */
const sentences: Readonly<Record<FailureReason, string>> = {
  guard: "the partner's networks do not allow the URL or an address of its host",
  dns: "the endpoint's host was not found",
  connect: "could not connect to the endpoint",
  connect_timeout: "the connection to the endpoint timed out",
  tls: "the TLS handshake failed",
  client_certificate: "the endpoint rejected the client certificate",
  reset: "the connection closed before the response",
  first_byte_timeout: "the response did not start in time",
  timeout: "the attempt timed out before the request was sent",
  response_invalid: "the response is not valid HTTP/1.1",
  token: "the token endpoint issued no access token",
  consent: "the endpoint does not consent to deliveries",
  internal: "the request was not sent because of a problem at the sender",
  backlog_full: "the limit of pending deliveries was reached; nothing was sent",
  held_expired: "the partner was held for too long; nothing was sent",
  partner_removed: "the partner was deleted; nothing more is sent",
  aborted: "the sender abandoned the attempt",
};

/** Why nothing could be sent to a partner for longer than its deliveries may take: details of `held_expired`. */
export const heldDetails = {
  held: "nothing could be sent to the partner until the delivery was too old",
  disabled: "the endpoint responded with 410, and the delivery was too old before an edit of the partner",
  failures: "the circuit breaker of the partner was open until the delivery was too old",
  rate_limited: "a Retry-After of the partner paused deliveries until the delivery was too old",
} as const;
const heldSentences: ReadonlySet<string> = new Set(Object.values(heldDetails));

/** An error code, which describes the endpoint or its certificate. */
const codeForm = /(?:^|[\s(])(?<cause>[A-Z][A-Z0-9]*(?:[_/][A-Z0-9]+)+|E[A-Z]{4,20})\)?$/u;
/** A status, with the code of a token endpoint, which is one of a closed list. */
const tokenForm = /: (?<cause>status \d{3}(?: [a-z_]+)?)(?:, [a-z0-9, ]+)?$/u;
/** A status, or what an endpoint lacks for its consent. */
const consentForm = /: (?<cause>status \d{3}|(?:no )?WebHook-Allowed-(?:Origin|Rate)[A-Za-z ]*)$/u;

/** The cause in a detail that callers may see, by reason. */
const causeForms: Readonly<Partial<Record<FailureReason, RegExp>>> = {
  connect: codeForm,
  tls: codeForm,
  client_certificate: codeForm,
  reset: codeForm,
  response_invalid: codeForm,
  token: tokenForm,
  consent: consentForm,
};

/**
 * The detail of a failure for callers: a fixed sentence, with the error code, the status or the lack that caused it.
 * Only the log and administrators get the full detail.
 */
export function failureDetail(reason: FailureReason, detail: string): string {
  const sentence = sentenceOf(reason, detail);
  const cause = causeForms[reason]?.exec(detail)?.groups?.["cause"];
  return cause === undefined ? sentence : `${sentence}: ${cause}`;
}

function sentenceOf(reason: FailureReason, detail: string): string {
  return reason === "held_expired" && heldSentences.has(detail) ? detail : sentences[reason];
}
