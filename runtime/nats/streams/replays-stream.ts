import { AckPolicy } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import type { Layout } from "../layout.ts";
import { publish, type PublishResult } from "../messages/publish.ts";

/** How far a delivery of a replay has come; the last two are ends. */
type ReplayMark = "published" | "delivered" | "failed";

/** `HG_REPLAYS`: one mark per delivery and step, so that a step that is repeated counts once. */
export interface ReplaysStream {
  /** @throws Unanswered */
  mark(replayId: string, mark: ReplayMark, did: string): Promise<PublishResult>;
  /** Deliveries of a replay that came so far. */
  count(replayId: string, mark: ReplayMark): Promise<number>;
}

/** The consumer that counts is deleted at once; this is for a process that ends in between. */
const countingAgeMs = 5_000;

/** The replays stream of a connection. */
export function createReplaysStream(handle: NatsConnectionHandle, layout: Layout): ReplaysStream {
  const stream = layout.streams.replays;
  const { consumers } = handle.manager;
  return {
    mark: (replayId, mark, did) => publish(handle, { subject: layout.replayMark(replayId, mark, did), payload: "" }),
    count: async (replayId, mark) => {
      // The only thing that counts by subject without listing every subject.
      const { name, num_pending: count } = await consumers.add(stream, {
        filter_subject: layout.replayMark(replayId, mark, "*"),
        ack_policy: AckPolicy.None,
        mem_storage: true,
        num_replicas: 1,
        inactive_threshold: nanos(countingAgeMs),
      });
      await consumers.delete(stream, name);
      return count;
    },
  };
}
