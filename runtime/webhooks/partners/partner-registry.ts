import type { Bucket } from "../../nats/streams/buckets.ts";
import type { Log } from "../log.ts";
import type { Partner } from "./partner.ts";

/** A partner for whom something may be stored, as long as that is so. */
export interface RegisteredPartner {
  readonly token: string;
  readonly uid: string;
  /** `namespace/name`. */
  readonly label: string;
  /**
   * When it was first missed in the configuration, Unix milliseconds by JetStream's clock; absent while it is there.
   */
  readonly removedAtMs?: number;
}

/** What must change, so that the list is true and what is left of removed partners goes. */
interface RegistryChanges {
  /** To be written into the list. */
  readonly write: readonly RegisteredPartner[];
  /** Whose deliveries end now, before their consumers go. */
  readonly remove: readonly RegisteredPartner[];
}

/** A deletion by mistake costs nothing when it is undone within this time. */
const removedAfterMsDefault = 600_000;
const nobody: ReadonlySet<string> = new Set();
/**
 * Other pods put partners on the list before they route to them; one that this pod never had configured is found then.
 */
const turnsBetweenReads = 10;

/** Decides about every partner that is in the configuration or in the list. */
export function registryChanges(
  partners: readonly Partner[],
  known: readonly RegisteredPartner[],
  nowMs: number,
  removedAfterMs: number,
): RegistryChanges {
  const byToken = new Map(known.map((entry) => [entry.token, entry]));
  const present = new Set(partners.map(({ key: token }) => token));
  const added = partners
    .filter(({ key: token }) => isNews(byToken.get(token)))
    .map(({ key: token, label, config }) => ({ token, uid: config.uid, label }));
  const missing = known.filter(({ token }) => !present.has(token));
  const missed = missing.filter(({ removedAtMs }) => removedAtMs === undefined);
  return {
    write: [...added, ...missed.map((entry) => ({ ...entry, removedAtMs: nowMs }))],
    remove: missing.filter(({ removedAtMs }) => removedAtMs !== undefined && nowMs - removedAtMs >= removedAfterMs),
  };
}

function isNews(entry: RegisteredPartner | undefined): boolean {
  return entry === undefined || entry.removedAtMs !== undefined;
}

interface ReadOptions {
  readonly before?: ReadonlyMap<string, RegisteredPartner>;
  readonly isWanted?: (token: string) => boolean;
  /** @default all */
  readonly countMax?: number;
}

interface PartnerRegistryDeps {
  readonly bucket: Bucket;
  readonly partners: () => readonly Partner[];
  /** Ends some of what waits, and deletes the consumers when nothing does; false when there is more. */
  readonly end: (partner: RegisteredPartner) => Promise<boolean>;
  /** Of these tokens, those that a pod may still have configured. */
  readonly running: (tokens: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly now: () => number;
  readonly log: Log;
  /** How long a partner is missing before its deliveries end. @default ten minutes */
  readonly removedAfterMs?: number;
}

/**
 * Keeps the list of known partners and ends what is left of those that are gone: once no pod has the partner, its
 * attempts end, then what waits becomes dead letters, then its consumers go. One pod does this. Each call is one turn.
 * Source: design §4.
 */
export function createPartnerRegistry(deps: PartnerRegistryDeps): () => Promise<void> {
  const { removedAfterMs = removedAfterMsDefault } = deps;
  /** What the list says; read now and then, since other pods only add to it while this pod has the duty. */
  let known: Map<string, RegisteredPartner> | undefined;
  let turns = 0;
  return async () => {
    turns += 1;
    if (known === undefined || turns % turnsBetweenReads === 0) {
      known = await readAll(deps.bucket, known === undefined ? {} : { before: known });
    }
    const changes = registryChanges(deps.partners(), [...known.values()], deps.now(), removedAfterMs);
    for (const entry of changes.write) {
      await deps.bucket.put(entry.token, JSON.stringify(entry));
      known.set(entry.token, entry);
    }
    const running = changes.remove.length === 0 ? nobody : await deps.running(changes.remove.map(({ token }) => token));
    for (const entry of changes.remove.filter(({ token }) => !running.has(token))) {
      if (await deps.end(entry)) {
        await deps.bucket.drop(entry.token);
        known.delete(entry.token);
        deps.log.info({ partner: entry.label }, "deliveries of a removed partner ended");
      }
    }
  };
}

/** Entries of the tokens that are wanted; those that were read before are not read again. */
export async function readAll(
  bucket: Bucket,
  { before, isWanted = () => true, countMax }: ReadOptions = {},
): Promise<Map<string, RegisteredPartner>> {
  const known = new Map(before);
  const wanted = (await bucket.keys()).filter((token) => !known.has(token) && isWanted(token));
  for (const key of wanted.slice(0, countMax)) {
    const entry = await bucket.get(key);
    if (entry !== undefined) {
      known.set(key, JSON.parse(entry.value) as RegisteredPartner);
    }
  }
  return known;
}
