import type { Bucket } from "../../nats/streams/buckets.ts";
import type { Log } from "../log.ts";
import type { Partner, NamedPartner } from "./partner.ts";
import { retryUntilReply } from "../../nats/connection/retry-until-reply.ts";

/** A partner that may still have stored messages. Its members are a stored form. */
export interface RegisteredPartner {
  readonly token: string;
  readonly uid: string;
  /** `namespace/name`. */
  readonly label: string;
  /**
   * Time at which it was first missing in the configuration, Unix milliseconds by JetStream's clock. Absent while it is
   * configured.
   */
  readonly removedAtMs?: number;
}

/** Changes that bring the registry up to date and end the deliveries of removed partners. */
interface RegistryChanges {
  /** Entries to write. */
  readonly write: readonly RegisteredPartner[];
  /** Partners whose deliveries end now. */
  readonly remove: readonly RegisteredPartner[];
}

/** A deletion by mistake has no effect when it is undone within this time. */
const removedAfterMsDefault = 600_000;
const none: ReadonlySet<string> = new Set();
/**
 * Runs between two reads of the registry. Other pods register partners before they route to them, including partners
 * that this pod never had configured.
 */
const runsBetweenReads = 10;

interface ConfiguredNow {
  readonly partners: readonly Partner[];
  /** False for the key of a partner that was removed. */
  readonly mayExist: (token: string) => boolean;
}

/** Registers the partner. @throws Error when the bucket rejects the entry, or the process ends */
export type ListPartner = (partner: NamedPartner) => Promise<void>;

/** Lifetime of a result. */
const lifetimeMs = 2_000;
/** Largest number of removed partners that are returned. The deliveries of others are visible once they end. */
const removedMax = 32;

/** A partner without configuration. `isRejected`: it may still exist, and its configuration is not applied. */
export interface UnconfiguredPartner extends RegisteredPartner {
  readonly isRejected: boolean;
}

interface Configured {
  readonly has: (token: string) => boolean;
  readonly mayExist: (token: string) => boolean;
}

/** Decides about each partner that is configured or registered. */
export function registryChanges(
  { partners, mayExist }: ConfiguredNow,
  known: readonly RegisteredPartner[],
  nowMs: number,
  removedAfterMs: number,
): RegistryChanges {
  const byToken = new Map(known.map((entry) => [entry.token, entry]));
  const present = new Set(partners.map(({ key: token }) => token));
  const added = partners
    .filter(({ key: token }) => mustWrite(byToken.get(token)))
    .map(({ key: token, label, config }) => ({ token, uid: config.uid, label }));
  const [unapplied, missing] = splitBy(
    known.filter(({ token }) => !present.has(token)),
    ({ token }) => mayExist(token),
  );
  const returned = unapplied.filter(mustWrite).map(({ token, uid, label }) => ({ token, uid, label }));
  const missed = missing.filter(({ removedAtMs }) => removedAtMs === undefined);
  return {
    write: [...added, ...returned, ...missed.map((entry) => ({ ...entry, removedAtMs: nowMs }))],
    remove: missing.filter(({ removedAtMs }) => removedAtMs !== undefined && nowMs - removedAtMs >= removedAfterMs),
  };
}

function splitBy<T>(all: readonly T[], is: (one: T) => boolean): readonly [yes: readonly T[], no: readonly T[]] {
  return [all.filter(is), all.filter((one) => !is(one))];
}

function mustWrite(entry: RegisteredPartner | undefined): boolean {
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
  /** @see ConfiguredPartners.mayExist */
  readonly mayExist: (token: string) => boolean;
  /** Ends a part of the waiting deliveries. Without any, it deletes the consumers and returns true. */
  readonly end: (partner: RegisteredPartner) => Promise<boolean>;
  /** Returns the keys that a pod may still have configured. */
  readonly running: (tokens: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly now: () => number;
  readonly log: Log;
  /** Time from the removal of a partner to the end of its deliveries. @default ten minutes */
  readonly removedAfterMs?: number;
}

/**
 * Maintains the registry of partners that may have stored messages, and ends the deliveries of removed partners. Once
 * no pod has a partner configured, its waiting deliveries become dead letters. Then its consumers are deleted. The
 * leader pod calls this periodically.
 */
export function createPartnerRegistry(deps: PartnerRegistryDeps): () => Promise<void> {
  const { removedAfterMs = removedAfterMsDefault } = deps;
  /**
   * Entries of the registry. They are read again rarely, because other pods only add entries while this pod is the
   * leader.
   */
  let known: Map<string, RegisteredPartner> | undefined;
  let runs = 0;
  return async () => {
    runs += 1;
    if (known === undefined || runs % runsBetweenReads === 0)
      known = await readAll(deps.bucket, known === undefined ? {} : { before: known });
    const configured = { partners: deps.partners(), mayExist: deps.mayExist };
    const changes = registryChanges(configured, [...known.values()], deps.now(), removedAfterMs);
    for (const entry of changes.write) {
      await deps.bucket.put(entry.token, JSON.stringify(entry));
      known.set(entry.token, entry);
    }
    const running = changes.remove.length === 0 ? none : await deps.running(changes.remove.map(({ token }) => token));
    for (const entry of changes.remove.filter(({ token }) => !running.has(token))) {
      if (await deps.end(entry)) {
        await deps.bucket.drop(entry.token);
        known.delete(entry.token);
        deps.log.info({ partner: entry.label }, "deliveries of a removed partner ended");
      }
    }
  };
}

/** Reads the entries of the wanted keys. Entries in `before` are not read again. */
export async function readAll(
  bucket: Bucket,
  { before, isWanted = () => true, countMax }: ReadOptions = {},
): Promise<Map<string, RegisteredPartner>> {
  const known = new Map(before);
  const wanted = (await bucket.keys()).filter((token) => !known.has(token) && isWanted(token));
  for (const key of wanted.slice(0, countMax)) {
    const entry = await bucket.get(key);
    if (entry !== undefined) known.set(key, JSON.parse(entry.value) as RegisteredPartner);
  }
  return known;
}

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
    const listing = retryUntilReply(() => bucket.putIf(key, JSON.stringify(entry), 0), { signal }).then(
      () => undefined,
    );
    listed.set(partner, listing);
    listing.catch(() => listed.delete(partner));
    return listing;
  };
}

/**
 * Returns a function that lists partners that are not configured but may have waiting messages. @throws Error without
 * a response
 */
export function createRemovedPartners(
  bucket: Bucket,
  { has, mayExist }: Configured,
): () => Promise<readonly UnconfiguredPartner[]> {
  let removed: readonly RegisteredPartner[] = [];
  let nextAtMs = 0;
  return async () => {
    if (performance.now() >= nextAtMs) {
      removed = [...(await readAll(bucket, { isWanted: (token) => !has(token), countMax: removedMax })).values()];
      nextAtMs = performance.now() + lifetimeMs;
    }
    const unconfigured = removed.filter(({ token }) => !has(token));
    return unconfigured.map((partner) => ({ ...partner, isRejected: mayExist(partner.token) }));
  };
}
