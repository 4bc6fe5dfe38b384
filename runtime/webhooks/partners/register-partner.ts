import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { Bucket } from "../../nats/streams/buckets.ts";
import type { RegisteredPartner } from "./partner-registry.ts";
import type { Partner } from "./partner.ts";

/**
 * Resolves when the partner is on the list of known partners. @throws Error when the bucket refuses it, or the process
 * ends
 */
export type ListPartner = (partner: Partner) => Promise<void>;

/**
 * Puts partners on the list of known partners before anything is stored for them: the leader may never see a partner
 * that is configured for a moment only, and what waits for it must end under its name. Each pod asks once for each
 * partner that it has configured.
 */
export function createListPartner(bucket: Bucket, signal: AbortSignal): ListPartner {
  const listed = new WeakMap<Partner, Promise<void>>();
  return (partner) => {
    const known = listed.get(partner);
    if (known !== undefined) return known;
    const { key: token, label, config } = partner;
    const entry: RegisteredPartner = { token, uid: config.uid, label };
    // Revision 0: an entry that is there already stays, also one of a partner that was missed for a while.
    const listing = untilAnswered(() => bucket.putIf(token, JSON.stringify(entry), 0), { signal }).then(
      () => undefined,
    );
    listed.set(partner, listing);
    listing.catch(() => listed.delete(partner));
    return listing;
  };
}
