import { AckPolicy } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import type { Layout } from "../layout.ts";
import { publish } from "../messages/publish.ts";

/** Progress of a delivery of a replay; the last three are final. */
type ReplayMark = "published" | "delivered" | "failed" | "acknowledged";

/** `HG_REPLAYS`: one mark per delivery and step. A repeated step counts once. */
export type ReplaysStream = ReturnType<typeof createReplaysStream>;

/** Lifetime of the counting consumer, for a process that ends before it deletes the consumer. */
const countingAgeMs = 5_000;

/** Creates the access to the replays stream. */
export function createReplaysStream(handle: NatsConnectionHandle, layout: Layout) {
  const stream = layout.streams.replays;
  const { consumers } = handle.manager;
  return {
    /** @throws NoReplyError */
    mark: (replayId: string, mark: ReplayMark, did: string) =>
      publish(handle, { subject: layout.replayMark(replayId, mark, did), payload: "" }),
    /** Counts the deliveries of a replay with this mark. */
    count: async (replayId: string, mark: ReplayMark) => {
      // Only a consumer counts the messages of a subject without a list of all subjects.
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
