import type { AttemptSignature } from "../../../api/histories.ts";
import { spliceAttempt, signedTextOf } from "../signing/signed-request.ts";
import type { AttemptRecord } from "../records/attempt-records.ts";
import type { StoredEvent } from "../records/event-record.ts";
import { isNarrowed } from "./partner-access.ts";
import type { HistoryView } from "./history-view.ts";

/** Returns the signature of an attempt; null when nothing was signed or nothing is known of it. */
export type SignatureOf = (record: AttemptRecord) => AttemptSignature | null;

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
    const without = (reason: NonNullable<AttemptSignature["canonical_reason"]>) => ({
      ...known,
      canonical: null,
      canonical_reason: reason,
    });
    if (!rebuilt.has(record)) return { ...without("older_attempt"), headers };
    const body = spliceAttempt(event.body, number);
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
