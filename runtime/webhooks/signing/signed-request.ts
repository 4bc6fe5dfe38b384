import type { SigningScheme } from "../../../crds/signing-key.ts";
import { schemes, timestampHeader, type AttemptHeaders, type AttemptToSign, type SignedText } from "./schemes.ts";
import type { Signer } from "./keys.ts";

/** One attempt and the content of its headers. Source: seed "Webhook Event Delivery" §4.1. */
export interface SignedAttempt extends AttemptToSign {
  /** The body's `attempt`; counts on across replays. */
  readonly attempt: number;
  /** The envelope's `producer`, else the installation's name. */
  readonly producer: string;
  /** Version of this program, for `User-Agent`. */
  readonly version: string;
  /** @default application/json */
  readonly contentType?: string;
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

/**
 * The part of a signed attempt that nothing but its keys, its endpoint and its installation could give again. The
 * record of the attempt holds it. It contains no key.
 */
export interface KeptSignature {
  readonly scheme: SigningScheme;
  /** Ids of the keys that signed, as the configuration names them; the newest first. */
  readonly keys: readonly string[];
  /** The part of the URL that the signature covers, with its query masked; absent for none. */
  readonly url?: string;
  /** By names as sent. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What the record of an attempt and its event say about a request. */
interface RecordedRequest {
  readonly eventId: string;
  /** `X-Attempt`. */
  readonly number: number;
  /** Start of the attempt, ISO 8601 UTC with milliseconds. */
  readonly at: string;
  readonly replayId?: string;
  /** Exactly the bytes that were sent. */
  readonly body: Uint8Array;
}

const jsonType = "application/json";
/** Headers that a body in another format depends on. */
const keptOfFormat = ["Content-Type", "X-Webhook-Producer"];
const openBrace = 0x7b;
const closeBrace = 0x7d;
const jsonSpaces: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);

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
    "Content-Type": attempt.contentType ?? jsonType,
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

/** Keeps what {@link signedTextOf} needs later. */
export function keepSignature(
  scheme: SigningScheme,
  signers: readonly Pick<Signer, "id">[],
  url: URL,
  headers: Readonly<Record<string, string>>,
): KeptSignature {
  const { kept, coveredUrl } = schemes[scheme];
  const covered = coveredUrl(url);
  const names = headers["Content-Type"] === jsonType ? kept : [...kept, ...keptOfFormat];
  return {
    scheme,
    keys: signers.flatMap(({ id }) => id ?? []),
    ...(covered === undefined ? {} : { url: covered }),
    headers: Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]))),
  };
}

/**
 * Builds again what recipients verify: the headers that matter, and the text under the signature of the newest key. The
 * text has `?***` in place of a query that it covers. Undefined for a signature that this version cannot read.
 */
export function signedTextOf(
  { scheme, url, headers: kept }: KeptSignature,
  { eventId, number, at, replayId, body }: RecordedRequest,
): SignedText | undefined {
  const headers: AttemptHeaders = {
    [timestampHeader]: at,
    "X-Event-Id": eventId,
    "X-Attempt": String(number),
    ...(replayId === undefined ? {} : { "X-Webhook-Replay": replayId }),
    "Content-Type": jsonType,
    ...kept,
  };
  // A later version may have written the record with a scheme that this one lacks.
  return Object.hasOwn(schemes, scheme)
    ? schemes[scheme].signedText({ url: url ?? "", eventId, at, body }, headers)
    : undefined;
}

/**
 * Adds `"attempt":N` as the last member. All other bytes stay as the producer sent them. `bytes` are those of a {@link
 * ValidEnvelope} or of any other JSON object.
 */
export function spliceAttempt(bytes: Uint8Array, attempt: number): Uint8Array {
  const close = lastBefore(bytes, bytes.length);
  if (bytes[close] !== closeBrace) throw new TypeError("An attempt is spliced into a JSON object");
  const isEmpty = bytes[lastBefore(bytes, close)] === openBrace;
  const member = `${isEmpty ? "" : ","}"attempt":${attempt}`;
  const spliced = Buffer.allocUnsafe(bytes.length + member.length);
  spliced.set(bytes);
  spliced.copyWithin(close + member.length, close, bytes.length);
  spliced.write(member, close, "latin1");
  return spliced;
}

/** Index of the last byte before `end` that is not JSON white space. */
function lastBefore(bytes: Uint8Array, end: number): number {
  let index = end - 1;
  while (jsonSpaces.has(bytes[index])) index -= 1;
  return index;
}
