import type { PulledMessage } from "../nats/pulled-message.ts";

/** A message in work; `message` is replaced when JetStream hands the same one out again. */
export interface HeldWork {
  message: PulledMessage;
  /** Milliseconds of the monotonic clock. */
  readonly sinceMs: number;
}

/** What is in work, by stream sequence. */
export interface InFlight<W extends HeldWork> {
  readonly size: number;
  /**
   * Takes a message into work. One that is in work already was handed out again because JetStream lost patience or its
   * connection; it only takes over what will be acknowledged.
   */
  take(message: PulledMessage, start: (message: PulledMessage) => W, run: (work: W) => Promise<void>): void;
  /** Tells JetStream of everything that takes longer than usual that it is still worked on. */
  keepAlive(): void;
  /** Resolves when nothing is in work any more, or after the bound. */
  idle(timeoutMs: number): Promise<void>;
}

/** Below the first acknowledgement wait by enough to miss two turns. */
export const keepAliveMs = 600;

/** Creates an empty set. `onError` hears of every run that failed. */
export function createInFlight<W extends HeldWork>(onError: (error: unknown, work: W) => void): InFlight<W> {
  const works = new Map<number, W>();
  const waiting = new Set<() => void>();
  const finish = (seq: number): void => {
    works.delete(seq);
    if (works.size === 0) {
      waiting.forEach((resolve) => resolve());
      waiting.clear();
    }
  };
  return {
    get size() {
      return works.size;
    },
    take: (message, start, run) => {
      const known = works.get(message.seq);
      if (known !== undefined) {
        known.message = message;
        return;
      }
      const work = start(message);
      works.set(message.seq, work);
      run(work)
        .catch((error: unknown) => onError(error, work))
        .finally(() => finish(message.seq));
    },
    keepAlive: () => {
      const olderMs = performance.now() - keepAliveMs / 2;
      for (const { message, sinceMs } of works.values()) {
        if (sinceMs < olderMs) {
          message.working();
        }
      }
    },
    idle: (timeoutMs) =>
      new Promise((resolve) => {
        if (works.size === 0) {
          resolve();
          return;
        }
        const timer = setTimeout(resolve, timeoutMs);
        waiting.add(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}
