import type { FailureReason } from "../settlement/outcome.ts";
import { isNarrowed, mayNamePartner, type PartnerAccess } from "./partner-access.ts";

/** The part of a history that a caller may see. */
export interface HistoryView extends PartnerAccess {
  /** True when addresses, DNS responses and pods of the installation are shown. @default false */
  readonly showsInternals?: boolean;
}

interface Attempt {
  readonly error: { readonly reason: FailureReason; readonly detail: string } | null;
  readonly pod?: string;
}

interface Delivery<A extends Attempt> {
  /** `namespace/name`. */
  readonly partner: string;
  readonly reason: string | null;
  readonly attempts: readonly A[];
}

const withdrawn = "not_permitted";

/** Sentences for callers. They contain no addresses and no DNS responses. */
const sentences: Readonly<Record<FailureReason, string>> = {
  guard: "the networks of the partner do not allow the URL or an address of its host",
  dns: "the host of the endpoint was not found",
  connect: "could not connect to the endpoint",
  connect_timeout: "connecting to the endpoint timed out",
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

/** The deliveries that a caller may see, without internals of the installation. */
export function viewOf<A extends Attempt, D extends Delivery<A>>(
  deliveries: readonly (D & Delivery<A>)[],
  view: HistoryView,
): readonly D[] {
  const visible = deliveries.filter((delivery) => isVisible(delivery, view));
  if (view.showsInternals === true) return visible;
  return visible.map((delivery) => ({ ...delivery, attempts: delivery.attempts.map(publicAttempt) }));
}

/** A narrowed caller sees a delivery without permission only when an attempt was made before. */
function isVisible({ partner, reason, attempts }: Delivery<Attempt>, view: HistoryView): boolean {
  return mayNamePartner(view, partner) && (!isNarrowed(view) || reason !== withdrawn || attempts.length > 0);
}

function publicAttempt<A extends Attempt>(attempt: A): Omit<A, "pod"> {
  const { pod: _pod, ...rest } = attempt;
  const { error } = attempt;
  return error === null ? rest : { ...rest, error: { ...error, detail: failureDetail(error.reason, error.detail) } };
}

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
