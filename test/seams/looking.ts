import { setTimeout as sleep } from "node:timers/promises";

/** Something that looks again and again. */
export interface Looking {
  /** What the last look threw; undefined when it succeeded. */
  fault(): unknown;
  /** Resolves when the look under way has ended. */
  stop(): Promise<void>;
}

const pauseMs = 150;

/** Looks, pauses and looks again, until it is stopped. A look that throws is one that saw nothing. */
export function startLooking(look: () => Promise<void>): Looking {
  let fault: unknown;
  const stopping = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      fault = await look().then(
        () => undefined,
        (error: unknown) => error,
      );
      await sleep(pauseMs);
    }
  };
  const ended = loop();
  return {
    fault: () => fault,
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}
