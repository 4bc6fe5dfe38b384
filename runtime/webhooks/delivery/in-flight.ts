import { backgroundClock, type Clock } from "../../../limits/clock.ts";
import type { PulledMessage } from "../../nats/messages/pulled-message.ts";

/** A message in flight; `message` is replaced when JetStream redelivers it. */
export interface HeldWork {
  message: PulledMessage;
  /** Milliseconds of the monotonic clock. */
  readonly sinceMs: number;
}

/** Messages in flight by stream sequence. */
export interface InFlight<W extends HeldWork> {
  readonly size: number;
  /**
   * Starts the work of a message. A message that is already in flight in this process is a redelivery, after its
   * acknowledgement wait or a lost connection. It only replaces the message that will be acknowledged.
   */
  take(message: PulledMessage, start: (message: PulledMessage) => W, run: (work: W) => Promise<void>): void;
  /** Extends the acknowledgement wait of messages that take longer than usual. */
  keepAlive(): void;
  /** Resolves when nothing is in flight, or after the timeout. */
  idle(timeoutMs: number): Promise<void>;
}

/** So far below the first acknowledgement wait that two missed calls do no harm. */
export const keepAliveMs = 400;

/**
 * Creates an empty set. `onError` is called with every failed run.
 *
 * @param everywhere messages of all sets of one stream: a worker that stops may still hold a message when the next
 *   worker receives it. @default the messages of this set
 * @param clock clock of `sinceMs`. @default the system clock
 */
export function createInFlight<W extends HeldWork>(
  onError: (error: unknown, work: W) => void,
  everywhere: Map<number, HeldWork> = new Map(),
  clock: Pick<Clock, "nowMs"> = backgroundClock,
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
      for (const { message, sinceMs } of works.values()) if (sinceMs < olderMs) message.working();
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

/**
 * Requires a look-up of messages whose delivery count is 1. After a crash, NATS can redeliver acknowledged messages
 * with a reset count, because its consumers lost their last state. Messages arrive in order, and of those only the ones
 * that were in flight left no attempt. After each start of a pull, all messages are therefore looked up. The check ends
 * once more messages in a row than can be in flight have left no trace.
 */
export type RedeliveryCheck = ReturnType<typeof createRedeliveryCheck>;

/** @param inFlightMax returns the number of messages that can be in flight at once */
export function createRedeliveryCheck(inFlightMax: () => number) {
  let left = 0;
  const require = (): void => {
    left = inFlightMax() + 1;
  };
  return {
    /** Whether the next message must be looked up. */
    get isRequired() {
      return left > 0;
    },
    /** Starts the check: a pull starts or restarts. */
    require,
    /** Takes the result of one look-up. */
    report: (hasTrace: boolean) => {
      if (hasTrace) require();
      else left = Math.max(0, left - 1);
    },
  };
}
