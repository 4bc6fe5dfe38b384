import type { FailureReason } from "../settlement/outcome.ts";
import type { AttemptRequest, AttemptSignature } from "../../../api/histories.ts";
import { signedTextOf } from "../signing/signed-request.ts";
import type { AttemptRecord } from "../records/attempt-records.ts";
import { parsePayload } from "../records/event-record.ts";
import { rebuiltAttempts, rebuiltBody, type SentBody, type ShownEvent } from "./sent-bodies.ts";
import { derivedHeaders, recordedHeaders, type RecordedHeader } from "../records/sent-request.ts";

/** The partners that a caller may see. */
export interface PartnerAccess {
  /** `namespace/name`. @default all, as with the entry `*` */
  readonly partners?: readonly string[];
}

const anyPartner = "*";

/** True when a caller may see only some partners. */
export function isNarrowed(access: PartnerAccess): access is Required<PartnerAccess> {
  return access.partners !== undefined && !access.partners.includes(anyPartner);
}

/** True when a caller may see and act on deliveries to a partner. */
export function mayNamePartner(access: PartnerAccess, label: string): boolean {
  return !isNarrowed(access) || access.partners.includes(label);
}

/** Copies only the access from a larger object. */
export function partnersOf({ partners }: PartnerAccess): PartnerAccess {
  return partners === undefined ? {} : { partners };
}

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

/** A URL may hold a secret of the partner. Tokens of the partner know it, and tokens of its tenants do not. */
function showsEndpoint(view: HistoryView): boolean {
  return view.showsInternals === true || isNarrowed(view);
}

/** Returns the request of an attempt; undefined when nothing was sent or nothing is known of it. */
export type RequestOf = (record: AttemptRecord) => AttemptRequest | undefined;

export const noRequests: RequestOf = () => undefined;

/** Shows the requests of attempts to a caller. Only tokens that may know the endpoint see its URL and fixed values. */
export function requestsOf(view: HistoryView, bodyOf: (record: AttemptRecord) => SentBody): RequestOf {
  const isShown = showsEndpoint(view);
  return (record) => {
    const { sent, signed } = record;
    if (sent === undefined) return undefined;
    const headers = recordedHeaders(sent, { ...derivedHeaders(record), ...signed?.headers });
    const payload = isNarrowed(view) ? [] : parsePayload(record.routedBy);
    return {
      method: "POST",
      url: isShown ? sent.url : null,
      headers: headers.map((header) => headerFor(header, isShown)),
      ...(payload.length === 0 ? {} : { payload }),
      ...bodyOf(record),
    };
  };
}

function headerFor(
  { name, value, isCut, isFixed }: RecordedHeader,
  isShown: boolean,
): AttemptRequest["headers"][number] {
  if (value === null) return { name, value, value_reason: "secret" };
  if (isFixed && !isShown) return { name, value: null, value_reason: "partner_only" };
  return { name, value, value_reason: isCut ? "truncated" : null };
}

/** Returns the signature of an attempt; null when nothing was signed or nothing is known of it. */
export type SignatureOf = (record: AttemptRecord) => AttemptSignature | null;

/** Longest signed text that is shown, in bytes. */
const canonicalBytesMax = 16_384;

export const noSignatures: SignatureOf = () => null;

/**
 * Builds the signatures of an event for a caller, the signed texts only of the newest attempts.
 *
 * @param visible the attempts that the caller may see
 */
export function signaturesOf(event: ShownEvent, visible: readonly AttemptRecord[], view: HistoryView): SignatureOf {
  const rebuilt = new Set(rebuiltAttempts(visible));
  const showsUrl = showsEndpoint(view);
  return (record) => {
    const { signed, eventId, number, at, replayId } = record;
    if (signed === undefined) return null;
    const { scheme, keys, url, headers } = signed;
    const known = { scheme, key_ids: keys };
    const without = (reason: NonNullable<AttemptSignature["canonical_reason"]>) => ({
      ...known,
      canonical: null,
      canonical_reason: reason,
    });
    if (!rebuilt.has(record)) return { ...without("older_attempt"), headers };
    const body = rebuiltBody(event, record);
    if (body === undefined) return { ...without("part_hidden"), headers };
    const request = { eventId, number, at, body, ...(replayId === undefined ? {} : { replayId }) };
    const isHidden = url !== undefined && !showsUrl;
    const found = signedTextOf(isHidden ? { ...signed, url: hiddenUrl(url) } : signed, request);
    if (found === undefined) return { ...without("unknown_scheme"), headers };
    if (found.text.length > canonicalBytesMax) return { ...without("too_long"), headers: found.headers };
    const canonical = Buffer.from(found.text).toString();
    return { ...known, canonical, canonical_reason: isHidden ? "url_hidden" : null, headers: found.headers };
  };
}

/** Takes the place of a signed URL, or of its path alone. No host has this name (RFC 2606). */
function hiddenUrl(url: string): string {
  const path = "/***";
  return url.startsWith("/") ? path : `https://hidden.invalid${path}${url.includes("?") ? "?***" : ""}`;
}
