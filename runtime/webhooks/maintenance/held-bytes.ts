import { pendingPlaces, type DeliveriesStream } from "../../nats/streams/deliveries-stream.ts";
import type { Partner } from "../partners/partner.ts";

interface HeldBytesDeps {
  readonly deliveries: Pick<DeliveriesStream, "waitingFor" | "pending">;
  readonly partners: () => readonly Partner[];
}

/** Time between two counts, at least; the server goes through about so many subjects a second. */
const pauseMsMin = 500;
const subjectsPerSecond = 20_000;
const secondMs = 1_000;
/** Messages of a partner whose sizes are looked at. */
const sampleMax = 16;
/** Subject and headers of a message. */
const overheadBytes = 400;

/**
 * Tells about how many bytes wait for partners that are held: the number of messages of each, times the mean size of
 * the first of them. The answer of before is given until it is time to count again.
 */
export function createHeldBytes({ deliveries, partners }: HeldBytesDeps): () => Promise<number> {
  let bytes = 0;
  let nextAtMs = 0;
  const meanBytes = async (token: string): Promise<number> => {
    for (const place of pendingPlaces) {
      const sample = await deliveries.pending(token, place, 1, sampleMax);
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
    for (const { lane, key: token } of partners().filter(({ config }) => config.held !== undefined)) {
      const waiting = await deliveries.waitingFor(lane, token);
      messages += waiting;
      sum += waiting === 0 ? 0 : waiting * (await meanBytes(token));
    }
    bytes = sum;
    nextAtMs = performance.now() + Math.max(pauseMsMin, (messages / subjectsPerSecond) * secondMs);
    return bytes;
  };
}
