import { DeliveryRefusal } from "./receive.ts";
import type { DeliveredEvent } from "./verify-delivery.ts";

/** The place of an event among those of one entity. Store it with the entity. */
export interface EventPosition {
  /** The sequence in `data` as digits; absent when the events have none. */
  readonly sequence?: string;
  readonly ts: string;
  readonly event_id: string;
}

/**
 * Reads the place of an event. The events of one entity either all have a sequence or all have none.
 * Source: seed "Webhook Event Delivery" §6.
 * @param sequenceField a field of `data` with a whole number, as a number or as digits. @default none, `ts` alone
 * @throws DeliveryRefusal 422 for an event without this field
 */
export function positionOf(event: DeliveredEvent, sequenceField?: string): EventPosition {
  const { ts, event_id } = event;
  if (sequenceField === undefined) return { ts, event_id };
  const value: unknown = new Map(Object.entries(event.data ?? {})).get(sequenceField);
  const isWhole = Number.isSafeInteger(value) || (typeof value === "string" && /^\d{1,40}$/u.test(value));
  if (!isWhole || Number(value) < 0)
    throw new DeliveryRefusal(422, "invalid_sequence", `data.${sequenceField} must be a whole number from 0 on`);
  return { sequence: String(value), ts, event_id };
}

/**
 * Whether an event is newer than the one that was applied last, so that it may replace the state. Order: sequence, then
 * `ts`, then id. All orders of arrival lead to the same state.
 */
export function isNewer(event: EventPosition, last: EventPosition | undefined): boolean {
  return last === undefined || comparePositions(event, last) > 0;
}

/** Sorts events of one entity, the oldest first. */
export function comparePositions(a: EventPosition, b: EventPosition): number {
  return (
    bySequence(a, b) ||
    Date.parse(a.ts) - Date.parse(b.ts) ||
    (a.event_id < b.event_id ? -1 : Number(a.event_id > b.event_id))
  );
}

function bySequence({ sequence: a }: EventPosition, { sequence: b }: EventPosition): number {
  if (a === undefined || b === undefined) return 0;
  const difference = BigInt(a) - BigInt(b);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}
