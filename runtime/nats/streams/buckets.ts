import type { NatsConnectionHandle } from "../connection/connect.ts";
import { publish, publishHeader } from "../messages/publish.ts";
import { readLast, readLastOfEach, type StoredMessage } from "../messages/stored-messages.ts";

/** One value of a bucket. */
export interface BucketEntry {
  readonly key: string;
  readonly value: string;
  /** Unix milliseconds by JetStream's clock. */
  readonly storedAtMs: number;
  /** Names this value among all that the key ever had. */
  readonly revision: number;
}

/** A key-value bucket, in the layout that NATS's own tools read. Keys are one subject token. Source: NATS ADR-8. */
export interface Bucket {
  /** @throws Unanswered, or Error when the bucket refuses */
  put(key: string, value: string): Promise<void>;
  /**
   * Writes unless the key has another revision than `revision` (0: than none, and it was never removed).
   *
   * @returns whether it was written
   * @throws Unanswered when that is not known, or Error when the bucket refuses
   */
  putIf(key: string, value: string, revision: number): Promise<boolean>;
  /** @throws Unanswered, or Error when the bucket refuses */
  remove(key: string): Promise<void>;
  /** From the leader. @throws Unanswered */
  get(key: string): Promise<BucketEntry | undefined>;
  /** Every entry, from any replica; at most 1,024. */
  list(): Promise<readonly BucketEntry[]>;
  /** Every key, however many; those that were {@link remove}d count until their bucket forgets them. */
  keys(): Promise<readonly string[]>;
  /** Removes an entry without a trace of it. */
  drop(key: string): Promise<void>;
}

const operationHeader = "KV-Operation";

/** A bucket that `ensureTopology` made. */
export function createBucket(handle: NatsConnectionHandle, name: string): Bucket {
  const stream = `KV_${name}`;
  const prefix = `$KV.${name}.`;
  const store = async (key: string, value: string, operation?: string): Promise<void> => {
    const headers = operation === undefined ? {} : { headers: { [operationHeader]: operation } };
    const answer = await publish(handle, { subject: prefix + key, payload: value, ...headers });
    if (answer.kind !== "stored") {
      throw new Error(`the bucket ${name} refused ${key}: ${answer.kind === "refused" ? answer.detail : answer.kind}`);
    }
  };
  const storeIf = async (key: string, value: string, revision: number): Promise<boolean> => {
    const headers = { [publishHeader.expectedSubjectSequence]: String(revision) };
    const answer = await publish(handle, { subject: prefix + key, payload: value, headers });
    if (answer.kind === "refused") {
      throw new Error(`the bucket ${name} refused ${key}: ${answer.detail}`);
    }
    return answer.kind === "stored";
  };
  const entryOf = ({ subject, seq, storedAtMs, headers, data }: StoredMessage): BucketEntry | undefined => {
    const isMarker = headers[operationHeader] !== undefined;
    const key = subject.slice(prefix.length);
    return isMarker ? undefined : { key, value: Buffer.from(data).toString(), storedAtMs, revision: seq };
  };
  return {
    put: (key, value) => store(key, value),
    putIf: storeIf,
    remove: (key) => store(key, "", "DEL"),
    get: async (key) => {
      const message = await readLast(handle, stream, prefix + key);
      return message === undefined ? undefined : entryOf(message);
    },
    list: async () => {
      const messages = await readLastOfEach(handle, stream, [`${prefix}>`]);
      return messages.map(entryOf).filter((entry) => entry !== undefined);
    },
    keys: async () => {
      const { state } = await handle.manager.streams.info(stream, { subjects_filter: `${prefix}>` });
      return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(prefix.length));
    },
    drop: async (key) => void (await handle.manager.streams.purge(stream, { filter: prefix + key })),
  };
}
