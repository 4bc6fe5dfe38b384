import type { EventsSize, EventsStream } from "../../nats/streams/events-stream.ts";
import type { Log } from "../log.ts";

/** Part of the size above which the oldest events go. */
const fullShare = 0.8;
/** Part of the size that is kept then. */
const keptShare = 0.7;

/**
 * The first sequence to keep so that history never refuses producers, or undefined while there is room. Events that are
 * not routed yet stay in any case: only those can fill the stream.
 */
export function firstSeqToKeep(size: EventsSize, bytesMax: number, routedUpTo: number): number | undefined {
  if (size.bytes <= bytesMax * fullShare) {
    return undefined;
  }
  const surplus = size.messages - Math.floor((size.messages * bytesMax * keptShare) / size.bytes);
  const keep = Math.min(size.firstSeq + surplus, routedUpTo + 1);
  return keep > size.firstSeq ? keep : undefined;
}

/** Makes room in the events stream where needed. Source: design §4 ("Room"). @throws Unanswered */
export async function trimEvents(events: EventsStream, bytesMax: number, log: Log): Promise<void> {
  const size = await events.size();
  const keep =
    size.bytes > bytesMax * fullShare ? firstSeqToKeep(size, bytesMax, await events.routedUpTo()) : undefined;
  if (keep !== undefined) {
    await events.dropBefore(keep);
    log.info({ bytes: size.bytes, bytesMax, firstSeq: keep }, "dropped the oldest routed events to make room");
  }
}
