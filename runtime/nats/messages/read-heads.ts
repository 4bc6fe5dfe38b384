import { AckPolicy, DeliverPolicy } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { firstValues } from "./headers.ts";
import type { StoredMessage } from "./stored-messages.ts";

/** A message in a stream without its body. */
export type MessageHead = Omit<StoredMessage, "data">;

const nanosPerMs = 1_000_000;
const batchMax = 4_096;
const batchWaitMs = 2_000;
/** Lifetime of the reading consumer, for a process that ends before it deletes the consumer. */
const consumerAgeMs = 10_000;

/**
 * Reads the heads of all messages of a stream from a sequence on, in order, without their bodies. It ends with the last
 * message that the stream had at the start, or when the server falls silent.
 */
export async function readHeads(
  handle: NatsConnectionHandle,
  stream: string,
  fromSeq: number,
  onHead: (head: MessageHead) => void,
): Promise<void> {
  const { consumers } = handle.manager;
  const { name, num_pending: pending } = await consumers.add(stream, {
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: Math.max(1, fromSeq),
    ack_policy: AckPolicy.None,
    headers_only: true,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanos(consumerAgeMs),
  });
  try {
    const consumer = await handle.manager.jetstream().consumers.get(stream, name);
    for (let left = pending; left > 0;) {
      const batch = await consumer.fetch({ max_messages: Math.min(left, batchMax), expires: batchWaitMs });
      const leftBefore = left;
      for await (const { subject, seq, timestampNanos, headers } of batch) {
        const storedAtMs = Math.floor(Number(timestampNanos) / nanosPerMs);
        onHead({ subject, seq, storedAtMs, headers: headers === undefined ? {} : firstValues(headers) });
        left -= 1;
      }
      if (left === leftBefore) return;
    }
  } finally {
    await consumers.delete(stream, name);
  }
}
