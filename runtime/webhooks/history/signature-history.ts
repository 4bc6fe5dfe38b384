import { spliceAttempt } from "../events/splice-attempt.ts";
import type { AttemptRecord } from "../records/attempt-records.ts";
import type { StoredEvent } from "../records/event-record.ts";
import { signedTextOf } from "../signing/kept-signature.ts";
import { isNarrowed } from "./partner-access.ts";
import type { HistoryView } from "./history-view.ts";

/** What the recipient of an attempt verifies. It contains no key. */
export interface SignatureHistory {
  readonly scheme: string;
  /** Ids of the keys that signed, the newest first. */
  readonly key_ids: readonly string[];
  /**
   * The text under the signature of the newest key. Null when it is too long, covers a URL that the caller may not see,
   * or belongs to an attempt before the newest {@link rebuiltMax}.
   */
  readonly canonical: string | null;
  /** The headers that the recipient needs, by names as sent. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the signature of an attempt; null when nothing was signed or nothing is known of it. */
export type SignatureOf = (record: AttemptRecord) => SignatureHistory | null;

/** Longest signed text that is shown, in bytes. */
const canonicalBytesMax = 16_384;
/** Attempts of an event whose signed text is built again. Each takes a digest of the event. */
const rebuiltMax = 64;

export const noSignatures: SignatureOf = () => null;

/**
 * Builds the signatures of an event for a caller, the signed texts only of the newest attempts.
 *
 * @param visible the attempts that the caller may see
 */
export function signaturesOf(
  event: Pick<StoredEvent, "body">,
  visible: readonly AttemptRecord[],
  view: HistoryView,
): SignatureOf {
  const newest = visible.toSorted((a, b) => (a.at < b.at ? 1 : -1)).slice(0, rebuiltMax);
  const rebuilt = new Set(newest);
  // A URL may hold a secret of the partner. Tokens of the partner know it, and tokens of its tenants do not.
  const showsUrl = view.showsInternals === true || isNarrowed(view);
  return (record) => {
    const { signed, eventId, number, at, replayId } = record;
    if (signed === undefined) return null;
    const { scheme, keys, url, headers } = signed;
    const known = { scheme, key_ids: keys };
    if (!rebuilt.has(record)) return { ...known, canonical: null, headers };
    const body = spliceAttempt(event.body, number);
    const request = { eventId, number, at, body, ...(replayId === undefined ? {} : { replayId }) };
    const found = signedTextOf(signed, request);
    if (found === undefined) return { ...known, canonical: null, headers };
    const isShown = (url === undefined || showsUrl) && found.text.length <= canonicalBytesMax;
    const canonical = isShown ? Buffer.from(found.text).toString() : null;
    return { ...known, canonical, headers: found.headers };
  };
}
