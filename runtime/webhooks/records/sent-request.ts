import type { AttemptOutcome, FailureReason } from "../settlement/outcome.ts";
import { maskedUrl, schemes } from "../signing/schemes.ts";
import type { KeptSignature } from "../signing/signed-request.ts";

type Headers = Readonly<Record<string, string>>;

/**
 * The request of an attempt without its body, as far as the rest of the record does not contain it. It contains no
 * secret.
 */
export interface SentRequest {
  /** The URL with `?***` for its query. */
  readonly url: string;
  /** By names as sent. Header names whose values are constant, or in the record anyway, are left out. */
  readonly headers: Headers;
  /** Fixed headers of the endpoint. Null: the value looks like a credential. Absent for none. */
  readonly fixed?: Readonly<Record<string, string | null>>;
  /** Names of the headers that authorized the request. Absent for none. */
  readonly authorized?: readonly string[];
}

/** A request and what decides which of its headers are recorded. */
export interface RequestToRecord {
  readonly url: URL;
  /** All headers except those of authorization and of HTTP itself. */
  readonly headers: Headers;
  readonly signed: Pick<KeptSignature, "scheme">;
  /** Fixed headers of the endpoint, as configured. */
  readonly fixed: Headers;
  /** Names of the headers that authorize the request. */
  readonly authorized: readonly string[];
}

/** Characters of a value that are recorded, and of the URL. */
const valueCharactersMax = 256;
const urlCharactersMax = 1_024;
/** Recorded headers of one request: the sender's own (at most 12) and 16 fixed ones. */
const headersMax = 32;

/** Headers that {@link derivedHeaders} returns. */
const derived: ReadonlySet<string> = new Set([
  "X-Timestamp",
  "X-Event-Id",
  "X-Attempt",
  "X-Webhook-Replay",
  "Content-Type",
  "Accept-Encoding",
]);

/** Failures after which the endpoint may have the request. */
const sentReasons: ReadonlySet<FailureReason> = new Set(["reset", "first_byte_timeout", "response_invalid", "aborted"]);

/** The part of a request that its record keeps; undefined if nothing was sent. */
export function recordSent(
  { url, headers, signed, fixed, authorized }: RequestToRecord,
  outcome: AttemptOutcome,
): SentRequest | undefined {
  if (outcome.kind === "failure" && !sentReasons.has(outcome.reason)) return undefined;
  const publicFixed = fixedHeaders(fixed);
  return {
    url: recordedUrl(url),
    headers: ownHeaders(headers, schemes[signed.scheme].kept, fixed),
    ...(publicFixed === undefined ? {} : { fixed: publicFixed }),
    ...(authorized.length === 0 ? {} : { authorized }),
  };
}

/** The sender's own headers, except those that the record contains elsewhere. */
function ownHeaders(headers: Headers, kept: readonly string[], fixed: Headers): Headers {
  const own: Record<string, string> = {};
  let count = 0;
  for (const name in headers) {
    const isElsewhere = derived.has(name) || kept.includes(name) || Object.hasOwn(fixed, name);
    if (isElsewhere || count >= headersMax) continue;
    own[name] = cutValue(headers[name] ?? "");
    count += 1;
  }
  return own;
}

/** URLs belong to their partner and never change. */
const knownUrls = new WeakMap<URL, string>();

function recordedUrl(url: URL): string {
  const known = knownUrls.get(url);
  if (known !== undefined) return known;
  const text = maskedUrl(url).slice(0, urlCharactersMax);
  knownUrls.set(url, text);
  return text;
}

/** Headers of an attempt whose values are constant, or in its record anyway. */
export function derivedHeaders(attempt: {
  readonly at: string;
  readonly eventId: string;
  readonly number: number;
  readonly replayId?: string;
}): Headers {
  return {
    "X-Timestamp": attempt.at,
    "X-Event-Id": attempt.eventId,
    "X-Attempt": String(attempt.number),
    ...(attempt.replayId === undefined ? {} : { "X-Webhook-Replay": attempt.replayId }),
    "Content-Type": "application/json",
    "Accept-Encoding": "identity",
  };
}

/** Recorded fixed headers. The objects belong to the configuration and live as long. */
const knownFixed = new WeakMap<Headers, SentRequest["fixed"]>();

function fixedHeaders(fixed: Headers): SentRequest["fixed"] {
  const known = knownFixed.get(fixed);
  if (known !== undefined) return known;
  const entries = Object.entries(fixed).slice(0, headersMax);
  if (entries.length === 0) return undefined;
  const shown = Object.fromEntries(
    entries.map(([name, value]) => [name, isCredential(name, value) ? null : cutValue(value)]),
  );
  knownFixed.set(fixed, shown);
  return shown;
}

/** No header may contain it. */
const cutMark = "…";

function cutValue(value: string): string {
  return value.length <= valueCharactersMax ? value : value.slice(0, valueCharactersMax) + cutMark;
}

/** A header of a recorded request. */
export interface RecordedHeader {
  readonly name: string;
  /** Null: never recorded, because it authorizes the request or looks like a credential. */
  readonly value: string | null;
  /** Only the start of the value is recorded. */
  readonly isCut: boolean;
  /** A fixed header of the endpoint. */
  readonly isFixed: boolean;
}

/**
 * The headers of a recorded request, except those of HTTP itself.
 *
 * @param others headers that are not in `sent`, by names as sent
 */
export function recordedHeaders(sent: SentRequest, others: Headers): readonly RecordedHeader[] {
  const { headers, fixed = {}, authorized = [] } = sent;
  const byName = new Map<string, RecordedHeader>();
  const add = (name: string, value: string | null, isFixed: boolean): void => {
    const isCut = value?.endsWith(cutMark) === true;
    const shown = isCut ? value.slice(0, -cutMark.length) : value;
    byName.set(name.toLowerCase(), { name, value: shown, isCut, isFixed });
  };
  // The sender's own headers replace fixed ones.
  for (const [name, value] of Object.entries(fixed)) add(name, value, true);
  for (const [name, value] of Object.entries({ ...others, ...headers })) add(name, value, false);
  for (const name of authorized) add(name, null, false);
  return [...byName.values()].toSorted((a, b) => Number(a.isFixed) - Number(b.isFixed));
}

const secretName = /auth|cookie|credential|dpop|key|pass|pwd|secret|session|sig|token/iu;
const secretScheme = /^(?:basic|bearer|digest|dpop|negotiate|token|apikey)\b/iu;
/** Keys, tokens, digests and UUIDs: a long run with digits and letters. */
const longRun = /[\w+/=-]{16,}/gu;

/**
 * Whether the value of a fixed header may be a credential. Resources are no place for credentials, and some have them
 * nevertheless, so what cannot be distinguished is treated as one.
 */
function isCredential(name: string, value: string): boolean {
  if (secretName.test(name) || secretScheme.test(value)) return true;
  const runs = value.match(longRun) ?? [];
  return runs.some((run) => /\d/u.test(run) && /[a-z]/iu.test(run));
}
