import type { NatsConnectionHandle } from "../connection/connect.ts";
import type { Layout } from "../layout.ts";
import { publish, publishHeader, type PublishResult } from "../messages/publish.ts";
import { readBatchFrom, readLastOfEach, removeMessage, type StoredMessage } from "../messages/stored-messages.ts";

/** A delivery that ended without success. */
export interface DeadLetterToStore {
  readonly partner: string;
  /** One subject token. */
  readonly reason: string;
  /** Which delivery ended; of a message that is none, a hash of its own. */
  readonly did: string;
  /** The same for every repeat of one dead letter. */
  readonly messageId: string;
  readonly payload: string;
  /** @default as long as the stream keeps anything */
  readonly retainSeconds?: number;
}

/** `HG_DLQ`: what was not delivered, with everything that is known about it. Full means refused, never dropped. */
export interface DeadLettersStream {
  /** @throws Unanswered */
  append(letter: DeadLetterToStore): Promise<PublishResult>;
  /**
   * The letters of a partner in order, from a sequence on, at most `countMax`; of one reason, or of every one (`*`).
   */
  list(partner: string, reason: string, fromSeq: number, countMax: number): Promise<readonly StoredMessage[]>;
  /** The letters of one delivery. */
  of(partner: string, did: string): Promise<readonly StoredMessage[]>;
  /** Sequence of the newest letter of all. */
  lastSeq(): Promise<number>;
  /** Takes a letter out; nothing when it is gone already. */
  remove(seq: number): Promise<void>;
}

/** Letters are up to 700 KiB. */
const batchBytesMax = 8 * 1024 * 1024;

/** The dead letters stream of a connection. */
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
      return readBatchFrom(handle, stream, { subject, seq: fromSeq, countMax, bytesMax: batchBytesMax });
    },
    of: (partner, did) => readLastOfEach(handle, stream, [layout.deadLetter(partner, "*", did)]),
    lastSeq: async () => (await handle.manager.streams.info(stream)).state.last_seq,
    remove: (seq) => removeMessage(handle, stream, seq),
  };
}
