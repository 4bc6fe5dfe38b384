import { hash } from "node:crypto";
import { failureDetail, type FailureReason } from "../settlement/outcome.ts";
import { eventBytesMax } from "../events/envelope.ts";
import { selectPayload, type PayloadSelection } from "../events/payload-selection.ts";
import { cloudEventContentType, toCloudEvent } from "../events/to-cloud-event.ts";
import type { AttemptRequest, AttemptSignature } from "../../../api/histories.ts";
import { signedTextOf, spliceAttempt } from "../signing/signed-request.ts";
import type { AttemptRecord } from "../records/attempt-records.ts";
import { parsePayload, sentBytes, type StoredEvent } from "../records/event-record.ts";
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

/** Builds the signatures of an event for a caller, the signed texts only of the newest attempts. */
export function signaturesOf({ newest, bodyOf }: RebuiltBodies, view: HistoryView): SignatureOf {
  const rebuilt = new Set(newest);
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
    const body = bodyOf(record);
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

/** An event whose bodies and signed texts are shown. */
export interface ShownEvent extends Pick<StoredEvent, "body"> {
  /** What the caller may not see of it, as selections of the rest. @default all is visible */
  readonly hidden?: PayloadSelection;
}

/** What a caller may see of the body of an attempt. */
export type SentBody = Pick<AttemptRequest, "body" | "body_sha256">;

/** Attempts of an event whose body is built again. Each takes a digest of the event. */
const rebuiltMax = 64;
/** Bytes of all bodies that a history has besides the event. The newest one fits, in any format. */
const bodyBytesMax = 2 * eventBytesMax;

/** The newest attempts of an event, and their bodies. */
export interface RebuiltBodies {
  readonly event: ShownEvent;
  /** The newest first. */
  readonly newest: readonly AttemptRecord[];
  /** The body as it was signed; undefined if the caller may not see a part of it. */
  readonly bodyOf: (record: Pick<AttemptRecord, "number" | "routedBy" | "signed">) => Uint8Array | undefined;
}

/**
 * Builds bodies of attempts again, for their digests and for their signed texts. Each selection of the payload is
 * applied once.
 *
 * @param visible the attempts that the caller may see
 */
export function rebuiltBodies(event: ShownEvent, visible: readonly AttemptRecord[]): RebuiltBodies {
  const { hidden = [] } = event;
  const selections = new Map<string | undefined, Uint8Array | undefined>();
  const selectedBy = (routedBy: string | undefined): Uint8Array | undefined => {
    if (!selections.has(routedBy)) {
      const sent = sentBytes(event, routedBy);
      const hidesPart = hidden.length > 0 && selectPayload(sent, hidden) !== sent;
      selections.set(routedBy, hidesPart ? undefined : sent);
    }
    return selections.get(routedBy);
  };
  return {
    event,
    newest: visible.toSorted((a, b) => (a.at < b.at ? 1 : -1)).slice(0, rebuiltMax),
    bodyOf: ({ number, routedBy, signed }) => {
      const sent = selectedBy(routedBy);
      return sent && spliceAttempt(formatted(sent, signed?.headers ?? {}), number);
    },
  };
}

/** The event in the format of the attempt, by the headers that its record keeps. */
function formatted(sent: Uint8Array, headers: Readonly<Record<string, string>>): Uint8Array {
  const { "Content-Type": type, "X-Webhook-Producer": producer = "" } = headers;
  return type === cloudEventContentType ? toCloudEvent(sent, producer) : sent;
}

/**
 * The bodies of the newest attempts. A body is returned as text if it is not the event that the caller sees with the
 * number of the attempt as its last member.
 */
export function sentBodies({ event, newest, bodyOf }: RebuiltBodies): (record: AttemptRecord) => SentBody {
  const { hidden = [] } = event;
  const seen = hidden.length === 0 ? event.body : selectPayload(event.body, hidden);
  const bodies = new Map<AttemptRecord, SentBody>();
  let bytesLeft = bodyBytesMax;
  for (const record of newest) {
    // Without a signature the format is not known.
    const body = record.signed === undefined ? undefined : bodyOf(record);
    if (body === undefined) continue;
    const digest = { body_sha256: hash("sha256", body, "hex") };
    const isEvent = Buffer.from(body).equals(spliceAttempt(seen, record.number));
    const isShown = !isEvent && body.length <= bytesLeft;
    if (isShown) bytesLeft -= body.length;
    bodies.set(record, isShown ? { ...digest, body: Buffer.from(body).toString() } : digest);
  }
  return (record) => bodies.get(record) ?? {};
}
