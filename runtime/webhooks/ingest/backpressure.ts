import type { EventsStream } from "../../nats/streams/events-stream.ts";
import type { Log } from "../log.ts";

/** Whether the events stream has little room left for producers. */
export interface Backpressure {
  readonly isFull: boolean;
  /** Looks again. @throws Error without an answer */
  look(): Promise<void>;
}

/** Part of the size from which on nothing more is taken: what is under way then still finds room. */
const fullShare = 0.95;
/** Part of the size below which events are taken again. */
const resumeShare = 0.9;

/** Watches the events stream; only unrouted events can fill it, since the janitor drops the others long before. */
export function createBackpressure(events: Pick<EventsStream, "size">, bytesMax: number, log: Log): Backpressure {
  let isFull = false;
  return {
    get isFull() {
      return isFull;
    },
    look: async () => {
      const { bytes } = await events.size();
      const next = bytes > bytesMax * (isFull ? resumeShare : fullShare);
      if (next !== isFull) {
        isFull = next;
        log.warn(
          { bytes, bytesMax },
          isFull ? "the event store is nearly full, producers are refused" : "events are taken again",
        );
      }
    },
  };
}
