import {
  parseSeenRecord,
  readSeenStoreOptions,
  seenRecordText,
  type OnceResult,
  type SeenStore,
  type SeenStoreOptions,
} from "../seen-store.ts";
import { onceByClaim, readLeaseSeconds, type Claim, type ClaimOptions } from "./claim.ts";

/** The part of a `KV` of the package `@nats-io/kv` that the store uses. */
export interface NatsBucket {
  get(key: string): Promise<NatsEntry | null>;
  create(key: string, text: string, ttl: string): Promise<number>;
  update(key: string, text: string, revision: number): Promise<number>;
  delete(key: string, options: { previousSeq: number }): Promise<void>;
  status(): Promise<{ readonly bucket: string; readonly ttl: number; readonly markerTTL: number }>;
}

interface NatsEntry {
  readonly operation: "PUT" | "DEL" | "PURGE";
  readonly revision: number;
  string(): string;
}

export interface NatsSeenStoreOptions extends Pick<SeenStoreOptions, "keyPrefix">, ClaimOptions {
  /** A bucket with a `ttl` of at least a day and a `markerTTL`, which lets claims expire. */
  readonly bucket: NatsBucket;
}

/**
 * Stores seen events in a key-value bucket of NATS 2.11 or later, for the bucket's `ttl`. The mark is not atomic with
 * the effect. A process that ends between both leaves a claim, and the effect runs again after `leaseSeconds`: it must
 * tolerate that.
 * @throws RangeError when the bucket forgets too early, or claims in it would never expire
 */
export async function openNatsSeenStore({
  bucket,
  keyPrefix,
  ...lease
}: NatsSeenStoreOptions): Promise<SeenStore<Claim>> {
  const ttl = `${Math.ceil(readLeaseSeconds(lease))}s`;
  const { keyOf } = readSeenStoreOptions({
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
    ttlSeconds: await bucketSeconds(bucket),
  });
  const bucketKeyOf = (eventId: string): string => natsKey(keyOf(eventId));
  return {
    find: async (eventId) => {
      const entry = await bucket.get(bucketKeyOf(eventId));
      return entry?.operation === "PUT" ? parseSeenRecord(entry.string()) : undefined;
    },
    once: (eventId, handlerVersion, effect) => {
      const key = bucketKeyOf(eventId);
      return onceByClaim(keyOf(eventId), handlerVersion, effect, {
        claim: () => claim(bucket, key, claimText(handlerVersion), ttl),
        settle: ({ fencingToken }, record) =>
          bucket.update(key, seenRecordText(record), fencingToken).then(() => true, whenConflict(false)),
      });
    },
  };
}

async function bucketSeconds(bucket: NatsBucket): Promise<number> {
  const { bucket: name, ttl, markerTTL } = await bucket.status();
  if (!(markerTTL > 0))
    throw new RangeError(`The bucket ${name} has no markerTTL, so that claims would never expire; create it with one`);
  return ttl === 0 ? Infinity : ttl / 1_000;
}

/** The key as a bucket can hold it: bytes that it does not allow become `=` and two hexadecimal digits. */
export function natsKey(key: string): string {
  return key.replaceAll(/[^\w-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}

type StoreRejection = Exclude<OnceResult, "processed">;

const roomBytes = 128;

/** Longer than the mark without an outcome, so that a bucket with room for the claim has room for the mark. */
function claimText(handlerVersion: string): string {
  return JSON.stringify({ claim: handlerVersion, room: " ".repeat(roomBytes) });
}

/**
 * A claim is a key that NATS lets expire; its revision is the number of the claim. `create` is checked by the leader of
 * the bucket. The read afterwards may come from a slower replica: it only decides about the words of the rejection, and
 * about a failure to replace, which is checked by its revision.
 */
async function claim(bucket: NatsBucket, key: string, text: string, ttl: string): Promise<Claim | StoreRejection> {
  const create = (): Promise<Claim | StoreRejection> =>
    bucket.create(key, text, ttl).then((revision) => ({ fencingToken: revision }), rejectionOf);
  const first = await create();
  if (first !== "busy") return first;
  const entry = await bucket.get(key);
  const record = entry?.operation === "PUT" ? parseSeenRecord(entry.string()) : undefined;
  if (record?.status === "ok") return "seen";
  if (entry === null || record === undefined) return "busy";
  // An update would not expire, so that the failure gives way to a new key.
  const isGone = await bucket.delete(key, { previousSeq: entry.revision }).then(() => true, whenConflict(false));
  return isGone ? create() : "busy";
}

/** Codes of JetStream: the last revision of the key is another one; the bucket has no room. */
const conflictCodes: readonly unknown[] = [10_071, 10_164];
const noRoomCode = 10_077;

function rejectionOf(error: unknown): StoreRejection {
  return codeOf(error) === noRoomCode ? "full" : whenConflict("busy" as const)(error);
}

function whenConflict<Result>(result: Result): (error: unknown) => Result {
  return (error) => {
    if (conflictCodes.includes(codeOf(error))) return result;
    throw error;
  };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
