/** A recipient's record of an event. Source: seed "Webhook Event Delivery" §2.2. */
export interface SeenRecord {
  /** Only `ok` counts as seen; an `error` is overwritten by the next attempt. */
  readonly status: "ok" | "error";
  /** Unix milliseconds. */
  readonly processedAtMs: number;
  /** Version of the code that processed the event. */
  readonly handlerVersion: string;
}

/**
 * - `processed`: the effect ran and the event is marked.
 * - `seen`: the event had its effect before; nothing ran.
 * - `busy`: another copy is being processed now; nothing ran.
 * - `full`: there is no room to remember one more event; nothing ran.
 */
export type OnceResult = "processed" | "seen" | "busy" | "full";

/**
 * Remembers which events had their effect, each for at least a day. `Transaction` is what the effect needs to be
 * atomic with the mark, for example a database client inside an open transaction.
 */
export interface SeenStore<Transaction> {
  /** The record of an event, or undefined when there is none any more. */
  find(eventId: string): Promise<SeenRecord | undefined>;
  /**
   * In one transaction: checks again, runs the effect, marks the event `ok`, commits. If the effect throws, everything
   * is undone, the event is marked `error` and the error is thrown on. Source: seed "Webhook Event Delivery" §3.
   */
  once(
    eventId: string,
    handlerVersion: string,
    effect: (transaction: Transaction) => Promise<void>,
  ): Promise<OnceResult>;
}

/** Shortest time that an event may be remembered, in seconds. Source: seed "Webhook Event Delivery" §8. */
export const seenSecondsMin = 86_400;

/** Key of an event's record in stores that have keys. Source: seed "Webhook Event Delivery" §2.2. */
export function seenKey(eventId: string): string {
  return `idempotency:event:${eventId}`;
}
