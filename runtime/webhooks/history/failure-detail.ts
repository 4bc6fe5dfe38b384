import type { FailureReason } from "../settlement/outcome.ts";

/** Sentences for callers. They contain no addresses and no DNS responses. */
const sentences: Readonly<Record<FailureReason, string>> = {
  guard: "the networks of the partner do not allow the URL or an address of its host",
  dns: "the host of the endpoint was not found",
  connect: "no connection came about",
  connect_timeout: "no connection came about in time",
  tls: "the TLS handshake failed",
  client_certificate: "the endpoint did not accept the client certificate",
  reset: "the connection ended before the response",
  first_byte_timeout: "the response did not begin in time",
  timeout: "the time of the attempt ended before the request was sent",
  response_invalid: "the response is not valid HTTP/1.1",
  token: "the token endpoint issued no access token",
  consent: "the endpoint does not consent to deliveries",
  internal: "the request was not sent, for a reason of the sender",
  backlog_full: "the limit of waiting deliveries is reached, nothing was sent",
  held_expired: "the partner was held for too long, nothing was sent",
  partner_removed: "the partner was removed, nothing more is sent",
  aborted: "the sender gave the attempt up",
};

/** Reasons whose error code describes the endpoint or its certificate, so that callers may see it. */
const codedReasons: ReadonlySet<FailureReason> = new Set([
  "connect",
  "tls",
  "client_certificate",
  "reset",
  "response_invalid",
]);
const codeForm = /(?:^|[\s(])(?<code>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|E[A-Z]{4,20})\)?$/u;
const statusForm = /: (?<status>status \d{3})$/u;

/**
 * The detail of a failure for callers: a fixed sentence, with the error code or the status that caused it. Only the log
 * and administrators get the full detail.
 */
export function failureDetail(reason: FailureReason, detail: string): string {
  const sentence = sentences[reason];
  const { code } = (codedReasons.has(reason) ? codeForm.exec(detail)?.groups : undefined) ?? {};
  const { status } = (reason === "token" || reason === "consent" ? statusForm.exec(detail)?.groups : undefined) ?? {};
  const cause = code ?? status;
  return cause === undefined ? sentence : `${sentence}: ${cause}`;
}
