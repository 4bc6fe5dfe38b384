import type { NatsConnectionHandle } from "../connection/connect.ts";
import { readStreamInfo } from "../messages/stream-info.ts";
import type { HeaderFields } from "../messages/headers.ts";
import { publish, publishHeader } from "../messages/publish.ts";
import { readLast, readLastOfEach, type StoredMessage } from "../messages/stored-messages.ts";

/** One value of a bucket. */
export interface BucketEntry {
  readonly key: string;
  readonly value: string;
  /** Unix milliseconds by JetStream's clock. */
  readonly storedAtMs: number;
  /** Number of this value; all values of the bucket have different numbers. */
  readonly revision: number;
  /** Headers of the message. @default none */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The last value of a key, or the marker of its removal. */
export interface MarkedEntry extends BucketEntry {
  readonly isRemoved: boolean;
}

/** A key-value bucket in the layout of the NATS tools. A key is one subject token. Source: NATS ADR-8. */
export type Bucket = ReturnType<typeof createBucket>;

const operationHeader = "KV-Operation";

/** Creates the access to a bucket that `ensureTopology` created. */
export function createBucket(handle: NatsConnectionHandle, name: string) {
  const stream = `KV_${name}`;
  const prefix = `$KV.${name}.`;
  const store = async (key: string, value: string, headers?: HeaderFields): Promise<number> => {
    const result = await publish(handle, { subject: prefix + key, payload: value, ...(headers && { headers }) });
    if (result.kind !== "stored")
      throw new Error(
        `the bucket ${name} rejected ${key}: ${result.kind === "rejected" ? result.detail : result.kind}`,
      );
    return result.seq;
  };
  const storeIf = async (key: string, value: string, revision: number): Promise<boolean> => {
    const headers = { [publishHeader.expectedSubjectSequence]: String(revision) };
    const result = await publish(handle, { subject: prefix + key, payload: value, headers });
    if (result.kind === "rejected") throw new Error(`the bucket ${name} rejected ${key}: ${result.detail}`);
    return result.kind === "stored";
  };
  const entryOf = ({ subject, seq, storedAtMs, headers, data }: StoredMessage): MarkedEntry => {
    const isRemoved = headers[operationHeader] !== undefined;
    const key = subject.slice(prefix.length);
    return { key, value: Buffer.from(data).toString(), storedAtMs, revision: seq, headers, isRemoved };
  };
  const all = async (timeoutMs?: number): Promise<readonly MarkedEntry[]> =>
    (await readLastOfEach(handle, stream, [`${prefix}>`], timeoutMs)).map(entryOf);
  return {
    /** Resolves with the revision of the value. @throws NoReplyError, or Error when the bucket rejects */
    put: store,
    /**
     * Writes if the revision of the key is `revision`. 0 means that the key has no value and was never removed.
     *
     * @returns whether it was written
     * @throws NoReplyError when the result is unknown, or Error when the bucket rejects
     */
    putIf: storeIf,
    /** @throws NoReplyError, or Error when the bucket rejects */
    remove: async (key: string, headers?: HeaderFields) =>
      void (await store(key, "", { [operationHeader]: "DEL", ...headers })),
    /** Reads from the leader. @throws NoReplyError */
    get: async (key: string): Promise<BucketEntry | undefined> => {
      const message = await readLast(handle, stream, prefix + key);
      const entry = message && entryOf(message);
      return entry?.isRemoved === false ? entry : undefined;
    },
    /** Lists all entries, from any replica; at most 1,024. */
    list: async (): Promise<readonly BucketEntry[]> => (await all()).filter(({ isRemoved }) => !isRemoved),
    /**
     * As {@link list}, and removed keys until their marker expires.
     *
     * @param timeoutMs longest time until the next entry. @default 5000
     * @throws NoReplyError
     */
    all,
    /** Lists all keys without a limit, including removed keys until their marker expires. */
    keys: async () => {
      const { state } = await readStreamInfo(handle, stream, { subjects_filter: `${prefix}>` });
      return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(prefix.length));
    },
    /** Removes an entry without a marker. */
    drop: async (key: string) => void (await handle.manager.streams.purge(stream, { filter: prefix + key })),
  };
}
