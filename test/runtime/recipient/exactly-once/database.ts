import type { SeenStore } from "../../../../runtime/recipient/seen-store.ts";

/** What the database says about the effects of all events. */
export interface Effects {
  /** Events with at least one effect. */
  readonly events: number;
  /** Effects that lasted; more than `events` when one was doubled. */
  readonly effects: number;
  /** How often the code of an effect ran to its end, as far as the database can know. */
  readonly runs: number;
}

/** Has the effect of an event, in the transaction of its store if there is one. */
type Pay = (eventId: string) => Promise<void>;

/** A database of a recipient: the store of seen events, and effects that can be counted. */
export interface Database {
  readonly store: SeenStore<Pay>;
  /** Makes tables, buckets or streams; one process calls it once. */
  readonly prepare: () => Promise<void>;
  readonly count: () => Promise<Effects>;
  readonly close: () => Promise<void>;
}

/** The store with an effect that needs no more than the event's id. */
export function paying<Transaction>(
  store: SeenStore<Transaction>,
  pay: (eventId: string, transaction: Transaction) => Promise<void>,
): SeenStore<Pay> {
  return {
    find: (eventId) => store.find(eventId),
    once: (eventId, handlerVersion, effect) =>
      store.once(eventId, handlerVersion, (transaction) => effect((id) => pay(id, transaction))),
  };
}

/** Short, so that events of a killed process are retried within the test. */
export const leaseSeconds = 2;
