import { JetStreamApiError } from "@nats-io/jetstream";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import type { Layout } from "../layout.ts";
import { openHeaderScan } from "../messages/header-scan.ts";
import { publish, publishHeader } from "../messages/publish.ts";
import { readStreamInfo } from "../messages/stream-info.ts";
import { readLast } from "../messages/stored-messages.ts";

/** The place of a message of usage. */
interface UsagePlace {
  /** Hours since the Unix epoch. */
  readonly hour: number;
  /** Name of a run of a pod. */
  readonly writer: string;
  readonly chunk: number;
}

/** What a write expects and is known by. */
interface UsageWrite {
  /** Sequence of the message that is replaced; 0 for none. */
  readonly afterSeq: number;
  /** Unique among the writes of a writer. */
  readonly id: string;
}

/**
 * `HG_USAGE`: the usage that each run of a pod counted in each hour, in chunks of rows. A message has the sums so far
 * and replaces the one before it, so that a repeated write counts nothing twice.
 */
export type UsageStream = ReturnType<typeof createUsageStream>;

const streamNotFound = 10059;
const messagesAtOnce = 64;

/** Creates the access to the usage stream. */
export function createUsageStream(handle: NatsConnectionHandle, layout: Layout) {
  const stream = layout.streams.usage;
  const subjectOf = ({ hour, writer, chunk }: UsagePlace): string => layout.usage(hour, writer, chunk);
  return {
    /** Unix milliseconds by JetStream's clock. */
    now: () => handle.clock.now(),
    /** Returns the sequence; undefined if the last message of the place is another one. @throws Error of NATS */
    write: async (
      place: UsagePlace,
      payload: Uint8Array,
      { afterSeq, id }: UsageWrite,
    ): Promise<number | undefined> => {
      const headers = { [publishHeader.messageId]: id, [publishHeader.expectedSubjectSequence]: String(afterSeq) };
      const result = await publish(handle, { subject: subjectOf(place), payload, headers });
      if (result.kind === "rejected") throw new Error(`${stream} rejected usage: ${result.detail}`);
      return result.kind === "stored" ? result.seq : undefined;
    },
    /** Sequence of the last message of a place, from the leader of the stream; 0 without one. @throws Error of NATS */
    lastSeq: async (place: UsagePlace): Promise<number> => (await readLast(handle, stream, subjectOf(place)))?.seq ?? 0,
    /** Unix milliseconds of the creation of the stream; undefined while it is missing. @throws Error of NATS */
    createdAtMs: async (): Promise<number | undefined> => {
      try {
        return Date.parse((await readStreamInfo(handle, stream)).created);
      } catch (error) {
        if (error instanceof JetStreamApiError && error.code === streamNotFound) return undefined;
        throw error;
      }
    },
    /** Reads the messages that were last written at this time or later, with their hours. @throws Error of NATS */
    read: async function* (sinceMs: number): AsyncGenerator<{ readonly hour: number; readonly payload: Uint8Array }> {
      const scan = await openHeaderScan(handle, stream, {
        subjects: [layout.filters.usage],
        from: { atMs: Math.max(0, sinceMs) },
        withBodies: true,
      });
      try {
        for (;;) {
          const messages = await scan.next(messagesAtOnce);
          for (const { subject, data } of messages) yield { hour: Number(subject.split(".")[2]), payload: data };
          if (messages.length < messagesAtOnce) return;
        }
      } finally {
        await scan.close();
      }
    },
  };
}
