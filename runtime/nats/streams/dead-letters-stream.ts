import type { NatsConnectionHandle } from "../connection/connect.ts";
import type { Layout } from "../layout.ts";
import { publish, publishHeader, type PublishResult } from "../messages/publish.ts";
import { readBatch, readLastOfEach, removeMessage, type StoredMessage } from "../messages/stored-messages.ts";

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
  /** @default the retention of the stream */
  readonly retainSeconds?: number;
}

/** `HG_DLQ`: dead letters. A full stream refuses new ones; it never drops old ones. */
export interface DeadLettersStream {
  /** @throws Unanswered */
  append(deadLetter: DeadLetterToStore): Promise<PublishResult>;
  /** Reads dead letters of a partner in order from a sequence on, at most `countMax`. `reason` may be `*`. */
  list(partner: string, reason: string, fromSeq: number, countMax: number): Promise<readonly StoredMessage[]>;
  /** Reads the newest dead letter per reason of one delivery. */
  of(partner: string, did: string): Promise<readonly StoredMessage[]>;
  /** Sequence of the newest dead letter of all partners. */
  lastSeq(): Promise<number>;
  /** Removes a dead letter if it exists. */
  remove(seq: number): Promise<void>;
}

/** A dead letter has up to 700 KiB. */
const batchBytesMax = 8 * 1024 * 1024;

/** Creates the access to the dead letters stream. */
export function createDeadLettersStream(handle: NatsConnectionHandle, layout: Layout): DeadLettersStream {
  const stream = layout.streams.deadLetters;
  return {
    append: ({ partner, reason, did, messageId, payload, retainSeconds }) =>
      publish(handle, {
        subject: layout.deadLetter(partner, reason, did),
        payload,
        headers: {
          [publishHeader.messageId]: messageId,
          ...(retainSeconds === undefined ? {} : { [publishHeader.ttl]: `${retainSeconds}s` }),
        },
      }),
    list: (partner, reason, fromSeq, countMax) => {
      const subject = layout.deadLetter(partner, reason, "*");
      return readBatch(handle, stream, { subject, seq: fromSeq, countMax, bytesMax: batchBytesMax });
    },
    of: (partner, did) => readLastOfEach(handle, stream, [layout.deadLetter(partner, "*", did)]),
    lastSeq: async () => (await handle.manager.streams.info(stream)).state.last_seq,
    remove: (seq) => removeMessage(handle, stream, seq),
  };
}
