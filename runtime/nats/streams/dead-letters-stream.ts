import type { StreamState } from "@nats-io/jetstream";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { readStreamInfo } from "../messages/stream-info.ts";
import type { Layout } from "../layout.ts";
import { publish, publishHeader } from "../messages/publish.ts";
import type { HeaderFields } from "../messages/headers.ts";
import { openHeaderScan } from "../messages/header-scan.ts";
import { type MessageHead, readAt, readBatch, readLastOfEach, removeMessage } from "../messages/stored-messages.ts";

/** A delivery that ended without success. */
export interface DeadLetterToStore {
  readonly partner: string;
  /** One subject token. */
  readonly reason: string;
  /** Id of the delivery; for a message that is not a delivery, a hash. */
  readonly did: string;
  /** Equal for every repeat of one dead letter. */
  readonly messageId: string;
  readonly payload: string;
  /** @default none */
  readonly headers?: HeaderFields;
  /** @default the retention of the stream */
  readonly retainSeconds?: number;
}

/** The content of the stream. */
export interface DeadLettersState {
  /** Time at which the stream was made, as JetStream writes it. */
  readonly created: string;
  readonly messages: number;
  readonly firstSeq: number;
  /** Also of a removed dead letter. */
  readonly lastSeq: number;
  /** Removed dead letters between the first and the last one. */
  readonly removed: number;
}

/** `HG_DLQ`: dead letters. A full stream rejects new ones; it never drops old ones. */
export type DeadLettersStream = ReturnType<typeof createDeadLettersStream>;

/** A dead letter has up to 700 KiB. */
const batchBytesMax = 8 * 1024 * 1024;
/** Heads that one request of a scan returns. */
const headsMax = 4_096;

/** Creates the access to the dead letters stream. */
export function createDeadLettersStream(handle: NatsConnectionHandle, layout: Layout) {
  const stream = layout.streams.deadLetters;
  return {
    /** @throws NoReplyError */
    append: ({ partner, reason, did, messageId, payload, retainSeconds, headers = {} }: DeadLetterToStore) =>
      publish(handle, {
        subject: layout.deadLetter(partner, reason, did),
        payload,
        headers: {
          ...headers,
          [publishHeader.messageId]: messageId,
          ...(retainSeconds === undefined ? {} : { [publishHeader.ttl]: `${retainSeconds}s` }),
        },
      }),
    /** Reads dead letters of a partner in order from a sequence on, at most `countMax`. `reason` may be `*`. */
    list: (partner: string, reason: string, fromSeq: number, countMax: number) => {
      const subject = layout.deadLetter(partner, reason, "*");
      return readBatch(handle, stream, { subject, seq: fromSeq, countMax, bytesMax: batchBytesMax });
    },
    /** Reads the newest dead letter per reason of one delivery. */
    of: (partner: string, did: string) => readLastOfEach(handle, stream, [layout.deadLetter(partner, "*", did)]),
    /** Reads the dead letter with this sequence from the leader. @throws NoReplyError */
    at: (seq: number) => readAt(handle, stream, seq),
    /** Reads dead letters of all partners in order from a sequence on, at most `countMax`. */
    scan: (seq: number, countMax: number) => {
      const subject = layout.filters.deadLetters;
      return readBatch(handle, stream, { subject, seq, countMax, bytesMax: batchBytesMax });
    },
    /** Reads what the stream holds, without reading messages. */
    state: async () => {
      const { created, state } = await readStreamInfo(handle, stream);
      const { messages, first_seq: firstSeq, last_seq: lastSeq, num_deleted: removed = 0 } = state as ServedState;
      return { created, messages, firstSeq, lastSeq, removed };
    },
    /** The sequences of removed dead letters between the first and the last one, in any order. */
    removed: async () => {
      const { state } = await readStreamInfo(handle, stream, { deleted_details: true });
      const { deleted } = state as ServedState;
      return deleted ?? [];
    },
    /** Reads subjects and headers of all dead letters from a sequence on, in order. */
    heads: async (fromSeq: number, onHead: (head: MessageHead) => void) => {
      const subjects = [layout.filters.deadLetters];
      const scan = await openHeaderScan(handle, stream, { subjects, from: { seq: fromSeq } });
      try {
        for (let count = headsMax; count === headsMax;) {
          const heads = await scan.next(headsMax);
          heads.forEach((head) => onHead(head));
          count = heads.length;
        }
      } finally {
        await scan.close();
      }
    },
    /** Sequence of the newest dead letter of all partners. */
    lastSeq: async () => (await readStreamInfo(handle, stream)).state.last_seq,
    /** Removes a dead letter if it exists. */
    remove: (seq: number) => removeMessage(handle, stream, seq),
  };
}

/** The server leaves out what is zero or empty, unlike the client's types. */
type ServedState = Pick<StreamState, "messages" | "first_seq" | "last_seq"> & {
  readonly num_deleted?: number;
  readonly deleted?: readonly number[] | null;
};
