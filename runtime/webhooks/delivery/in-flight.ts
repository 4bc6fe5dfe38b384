import { systemClock, type Clock } from "../../bounds/clock.ts";
import type { PulledMessage } from "../../nats/messages/pulled-message.ts";

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
   * Takes a message into work. One that is in work already, here or in another set of the same process, was handed out
   * again because JetStream lost patience or its connection; it only takes over what will be acknowledged.
   */
  take(message: PulledMessage, start: (message: PulledMessage) => W, run: (work: W) => Promise<void>): void;
  /** Tells JetStream of everything that takes longer than usual that it is still worked on. */
  keepAlive(): void;
  /** Resolves when nothing is in work any more, or after the bound. */
  idle(timeoutMs: number): Promise<void>;
}

/** Below the first acknowledgement wait by enough to miss two turns. */
export const keepAliveMs = 500;

/**
 * Creates an empty set. `onError` hears of every run that failed.
 *
 * @param everywhere what all sets of one stream hold: a worker that ends is still at work when the next one is given
 * the same message. @default its own alone
 * @param clock the one of `sinceMs`. @default the machine's
 */
export function createInFlight<W extends HeldWork>(
  onError: (error: unknown, work: W) => void,
  everywhere: Map<number, HeldWork> = new Map(),
  clock: Pick<Clock, "nowMs"> = systemClock,
): InFlight<W> {
  const works = new Map<number, W>();
  const waiting = new Set<() => void>();
  const finish = (seq: number): void => {
    works.delete(seq);
    everywhere.delete(seq);
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
      const known = everywhere.get(message.seq);
      if (known !== undefined) {
        known.message = message;
        return;
      }
      const work = start(message);
      works.set(message.seq, work);
      everywhere.set(message.seq, work);
      run(work)
        .catch((error: unknown) => onError(error, work))
        .finally(() => finish(message.seq));
    },
    keepAlive: () => {
      if (works.size === 0) return;
      const olderMs = clock.nowMs() - keepAliveMs / 2;
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
