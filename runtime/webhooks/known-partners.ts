import type { Bucket } from "../nats/buckets.ts";
import type { Log } from "./delivery-context.ts";
import type { Partner } from "./partner.ts";

/** A partner for whom something may be stored, as long as that is so. */
export interface KnownPartner {
  readonly token: string;
  readonly uid: string;
  /** `namespace/name`. */
  readonly label: string;
  /** When it was first missed in the configuration, Unix milliseconds by JetStream's clock; absent while it is there. */
  readonly removedAtMs?: number;
}

/** What must change, so that the list is true and what is left of removed partners goes. */
export interface PartnersCare {
  /** To be written into the list. */
  readonly write: readonly KnownPartner[];
  /** Whose deliveries and consumers go now. */
  readonly remove: readonly KnownPartner[];
}

/**
 * How long a partner is gone from the configuration before what waits for it goes too: an object that is deleted and
 * made again by mistake, or a pod that has not heard of it yet, costs nothing.
 */
export const removedAfterMs = 600_000;

/** What was found to be stored for somebody unknown is put into the list by others. */
const turnsBetweenReads = 30;

/** Decides about every partner that is in the configuration or in the list. */
export function partnersCare(
  partners: readonly Partner[],
  known: readonly KnownPartner[],
  nowMs: number,
  patienceMs: number,
): PartnersCare {
  const byToken = new Map(known.map((entry) => [entry.token, entry]));
  const present = new Set(partners.map(({ token }) => token));
  const added = partners
    .filter(({ token }) => isNews(byToken.get(token)))
    .map(({ token, label, config }) => ({ token, uid: config.uid, label }));
  const missing = known.filter(({ token }) => !present.has(token));
  const missed = missing.filter(({ removedAtMs }) => removedAtMs === undefined);
  return {
    write: [...added, ...missed.map((entry) => ({ ...entry, removedAtMs: nowMs }))],
    remove: missing.filter(({ removedAtMs }) => removedAtMs !== undefined && nowMs - removedAtMs >= patienceMs),
  };
}

function isNews(entry: KnownPartner | undefined): boolean {
  return entry === undefined || entry.removedAtMs !== undefined;
}

export interface KnownPartnersDeps {
  readonly bucket: Bucket;
  readonly partners: () => readonly Partner[];
  /** Purges what waits and deletes the consumers; false when something is still in flight. */
  readonly purge: (token: string) => Promise<boolean>;
  readonly now: () => number;
  readonly log: Log;
  /** @default {@link removedAfterMs} */
  readonly patienceMs?: number;
}

/**
 * Keeps the list of known partners and removes what is left of those that are gone: their attempts end, then what waits
 * is purged, then their consumers go. One pod does this. Each call is one turn. Source: design §4.
 */
export function createKnownPartners(deps: KnownPartnersDeps): () => Promise<void> {
  /** What the list says; read rarely, since this pod is the only one that writes it while it has this duty. */
  let known: Map<string, KnownPartner> | undefined;
  let turns = 0;
  return async () => {
    turns += 1;
    if (known === undefined || turns % turnsBetweenReads === 0) {
      known = await readAll(deps.bucket, known);
    }
    const care = partnersCare(deps.partners(), [...known.values()], deps.now(), deps.patienceMs ?? removedAfterMs);
    for (const entry of care.write) {
      await deps.bucket.put(entry.token, JSON.stringify(entry));
      known.set(entry.token, entry);
    }
    for (const { token, label } of care.remove) {
      if (await deps.purge(token)) {
        await deps.bucket.drop(token);
        known.delete(token);
        deps.log.info({ partner: label }, "purged what was left of a removed partner");
      }
    }
  };
}

/** Entries that were read before are not read again. */
async function readAll(bucket: Bucket, before?: Map<string, KnownPartner>): Promise<Map<string, KnownPartner>> {
  const known = new Map(before);
  for (const key of (await bucket.keys()).filter((token) => !known.has(token))) {
    const entry = await bucket.get(key);
    if (entry !== undefined) {
      known.set(key, JSON.parse(entry.value) as KnownPartner);
    }
  }
  return known;
}
