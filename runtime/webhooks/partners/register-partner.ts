import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { Bucket } from "../../nats/streams/buckets.ts";
import type { RegisteredPartner } from "./partner-registry.ts";
import type { NamedPartner } from "./partner.ts";

/** Registers the partner. @throws Error when the bucket refuses the entry, or the process ends */
export type ListPartner = (partner: NamedPartner) => Promise<void>;

/**
 * Registers partners before messages are stored for them. The leader may never see a partner that is configured only
 * briefly. The waiting messages of such a partner must still end under its name. Each pod writes once per configured
 * partner.
 */
export function createListPartner(bucket: Bucket, signal: AbortSignal): ListPartner {
  const listed = new WeakMap<NamedPartner, Promise<void>>();
  return (partner) => {
    const known = listed.get(partner);
    if (known !== undefined) return known;
    const { key, label, config } = partner;
    const entry: RegisteredPartner = { token: key, uid: config.uid, label };
    // Revision 0 keeps an existing entry, including one of a partner that was missing for a while.
    const listing = untilAnswered(() => bucket.putIf(key, JSON.stringify(entry), 0), { signal }).then(() => undefined);
    listed.set(partner, listing);
    listing.catch(() => listed.delete(partner));
    return listing;
  };
}
