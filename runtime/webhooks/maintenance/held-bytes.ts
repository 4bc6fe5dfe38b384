import { pendingPlaces, type DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import type { Partner } from "../partners/partner.ts";

interface HeldBytesDeps {
  readonly deliveries: Pick<DeliveriesStream, "waitingFor" | "pending">;
  readonly partners: () => readonly Partner[];
}

/** Minimum time between two counts. */
const pauseMsMin = 500;
/** About how many subjects the server counts in a second. */
const subjectsPerSecond = 20_000;
const secondMs = 1_000;
/** Messages of a partner whose sizes are read. */
const sampleMax = 16;
/** Subject and headers of a message. */
const overheadBytes = 400;

/**
 * Estimates the bytes that wait for held partners: the number of messages of each, times the mean size of its first
 * messages. Returns the previous estimate until the next count is due.
 */
export function createHeldBytes({ deliveries, partners }: HeldBytesDeps): () => Promise<number> {
  let bytes = 0;
  let nextAtMs = 0;
  const meanBytes = async (key: string): Promise<number> => {
    for (const place of pendingPlaces) {
      const sample = await deliveries.pending(key, place, 1, sampleMax);
      if (sample.length > 0)
        return overheadBytes + sample.reduce((sum, { data }) => sum + data.length, 0) / sample.length;
    }
    return 0;
  };
  return async () => {
    if (performance.now() < nextAtMs) {
      return bytes;
    }
    let messages = 0;
    let sum = 0;
    for (const { lane, key } of partners().filter(({ config }) => config.held !== undefined)) {
      const waiting = await deliveries.waitingFor(lane, key);
      messages += waiting;
      sum += waiting === 0 ? 0 : waiting * (await meanBytes(key));
    }
    bytes = sum;
    nextAtMs = performance.now() + Math.max(pauseMsMin, (messages / subjectsPerSecond) * secondMs);
    return bytes;
  };
}
