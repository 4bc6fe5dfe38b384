import type { StreamSize } from "../../nats/messages/stored-messages.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import type { Log } from "../log.ts";

/** Share of the maximum size above which the oldest events are deleted. */
const fullShare = 0.8;
/** Share of the maximum size that remains. */
const keptShare = 0.7;

/**
 * Returns the first sequence to keep, so that old events never cause a refusal; undefined below the limit. Events that
 * are not routed yet always stay, so only these can fill the stream.
 */
export function firstSeqToKeep(size: StreamSize, bytesMax: number, routedUpTo: number): number | undefined {
  if (size.bytes <= bytesMax * fullShare) {
    return undefined;
  }
  const surplus = size.messages - Math.floor((size.messages * bytesMax * keptShare) / size.bytes);
  const keep = Math.min(size.firstSeq + surplus, routedUpTo + 1);
  return keep > size.firstSeq ? keep : undefined;
}

/** Deletes the oldest routed events above the limit. @throws Unanswered */
export async function trimEvents(events: EventsStream, bytesMax: number, log: Log): Promise<void> {
  const size = await events.size();
  const keep =
    size.bytes > bytesMax * fullShare ? firstSeqToKeep(size, bytesMax, await events.routedUpTo()) : undefined;
  if (keep !== undefined) {
    await events.dropBefore(keep);
    log.info({ bytes: size.bytes, bytesMax, firstSeq: keep }, "oldest routed events deleted");
  }
}
