import { JetStreamApiError } from "@nats-io/jetstream";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { readStreamInfo } from "../messages/stream-info.ts";
import type { Layout } from "../layout.ts";
import { openHeaderScan } from "../messages/header-scan.ts";
import { publish, publishHeader } from "../messages/publish.ts";
import { readLast } from "../messages/stored-messages.ts";

/** What tells one index stream from the next of the same name, and its end. */
export interface EventIndexState {
  /** Time of its creation, as the server writes it. */
  readonly created: string;
  readonly lastSeq: number;
}

/** `HG_INDEX`: rows of events and attempts, many to a message. It holds nothing that other streams do not hold. */
export type EventIndexStream = ReturnType<typeof createEventIndexStream>;

const streamNotFound = 10059;

/** Creates the access to the index of events. */
export function createEventIndexStream(handle: NatsConnectionHandle, layout: Layout) {
  const stream = layout.streams.index;
  const subject = layout.indexSubject;
  return {
    /**
     * Appends after the message with this sequence, 0 for none; else the result is `unexpected`. @throws NoReplyError
     */
    append: (payload: Uint8Array, afterSeq: number) => {
      const headers = { [publishHeader.expectedSubjectSequence]: String(afterSeq) };
      return publish(handle, { subject, payload, headers });
    },
    /** Reads the last message from the leader of the stream. @throws NoReplyError */
    last: () => readLast(handle, stream, subject),
    /** Reads messages with their payload in order. @throws JetStreamApiError */
    open: (seq: number) => openHeaderScan(handle, stream, { subjects: [subject], from: { seq }, withBodies: true }),
    /** Undefined while there is no such stream. @throws Error of NATS */
    state: async () => {
      try {
        const { created, state } = await readStreamInfo(handle, stream);
        return { created, lastSeq: state.last_seq };
      } catch (error) {
        if (error instanceof JetStreamApiError && error.code === streamNotFound) return undefined;
        throw error;
      }
    },
    /** Removes all messages. @throws Error of NATS */
    clear: async () => void (await handle.manager.streams.purge(stream)),
  };
}
