import type { EventsStream } from "../../nats/streams/events-stream.ts";
import type { Log } from "../log.ts";

/** Measures whether the events stream is nearly full. */
export interface Backpressure {
  readonly isFull: boolean;
  /** Measures again. @throws Error when JetStream does not respond */
  poll(): Promise<void>;
}

/** Share of the maximum size above which ingest rejects events. Events that are being stored still fit. */
const fullShare = 0.95;
/** Share of the maximum size below which ingest accepts events again. */
const resumeShare = 0.9;

/** Creates the measurement. Only unrouted events can fill the stream: a maintenance job deletes routed ones before. */
export function createBackpressure(events: Pick<EventsStream, "size">, bytesMax: number, log: Log): Backpressure {
  let isFull = false;
  return {
    get isFull() {
      return isFull;
    },
    poll: async () => {
      const { bytes } = await events.size();
      const next = bytes > bytesMax * (isFull ? resumeShare : fullShare);
      if (next !== isFull) {
        isFull = next;
        log.warn({ bytes, bytesMax }, isFull ? "event store nearly full, producers rejected" : "events accepted again");
      }
    },
  };
}
