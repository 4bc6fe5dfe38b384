import type { SeqBounds } from "./event-list.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";

/** Stored events between two sequences, read in chunks. Whoever asks for a chunk again gets what was read. */
export interface RecentEvents {
  /** Events within the bounds in order, a chunk at a time. A chunk may also hold events outside of them. */
  chunks(bounds: SeqBounds, isAscending: boolean): Iterable<() => Promise<readonly StoredMessage[]>>;
}

/** A little more than a page, so that the newest page takes one read. */
export const chunkSize = 128;

/** Creates the events from one sequence to another, both inclusive. It reads nothing before a chunk is asked for. */
export function createRecentEvents(events: Pick<EventsStream, "scan">, fromSeq: number, lastSeq: number): RecentEvents {
  const known = new Map<number, Promise<readonly StoredMessage[]>>();
  const chunkAt = (seq: number): Promise<readonly StoredMessage[]> => {
    const found = known.get(seq) ?? readBetween(events, seq, Math.min(seq + chunkSize - 1, lastSeq));
    known.set(seq, found);
    return found;
  };
  return {
    *chunks({ afterSeq, beforeSeq }, isAscending) {
      const starts: number[] = [];
      for (let seq = fromSeq; seq <= Math.min(lastSeq, beforeSeq - 1); seq += chunkSize) {
        if (seq + chunkSize - 1 > afterSeq) starts.push(seq);
      }
      for (const seq of isAscending ? starts : starts.reverse()) yield () => chunkAt(seq);
    },
  };
}

async function readBetween(
  events: Pick<EventsStream, "scan">,
  fromSeq: number,
  toSeq: number,
): Promise<readonly StoredMessage[]> {
  const found: StoredMessage[] = [];
  for (let seq = fromSeq; seq <= toSeq;) {
    const batch = await events.scan("*", { seq }, toSeq - seq + 1);
    found.push(...batch.filter((message) => message.seq <= toSeq));
    seq = (batch.at(-1)?.seq ?? toSeq) + 1;
  }
  return found;
}
