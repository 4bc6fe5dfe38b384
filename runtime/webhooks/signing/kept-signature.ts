import type { SigningScheme } from "../../../crds/signing-key.ts";
import { schemes, timestampHeader, type AttemptHeaders, type SignedText } from "./schemes.ts";
import type { Signer } from "./signers.ts";

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
export interface RecordedRequest {
  readonly eventId: string;
  /** `X-Attempt`. */
  readonly number: number;
  /** Start of the attempt, ISO 8601 UTC with milliseconds. */
  readonly at: string;
  readonly replayId?: string;
  /** Exactly the bytes that were sent. */
  readonly body: Uint8Array;
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
  return {
    scheme,
    keys: signers.flatMap(({ id }) => id ?? []),
    ...(covered === undefined ? {} : { url: covered }),
    headers: Object.fromEntries(kept.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]))),
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
    "Content-Type": "application/json",
    ...kept,
  };
  // A later version may have written the record with a scheme that this one lacks.
  return Object.hasOwn(schemes, scheme)
    ? schemes[scheme].signedText({ url: url ?? "", eventId, at, body }, headers)
    : undefined;
}
