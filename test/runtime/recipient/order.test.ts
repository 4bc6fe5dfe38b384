import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { comparePositions, isNewer, positionOf, type EventPosition } from "../../../runtime/recipient/order.ts";
import { event } from "./signed-delivery.ts";

const at = (seconds: number): string => `2026-01-02T03:04:0${seconds}.000Z`;

/** Applies events in the order in which they arrive, as a recipient does. */
function applied(events: readonly EventPosition[]): EventPosition | undefined {
  return events.reduce<EventPosition | undefined>((last, one) => (isNewer(one, last) ? one : last), undefined);
}

describe("the order of events of one entity", () => {
  test.each([
    ["a later time", { ts: at(2), event_id: "a" }, { ts: at(1), event_id: "b" }],
    [
      "a larger sequence, whatever the time",
      { sequence: "10", ts: at(1), event_id: "a" },
      { sequence: "9", ts: at(2), event_id: "b" },
    ],
    [
      "a sequence beyond 2⁵³",
      { sequence: "9007199254740993", ts: at(1), event_id: "a" },
      { sequence: "9007199254740992", ts: at(1), event_id: "b" },
    ],
    ["a time in another notation", { ts: "2026-01-02T03:04:02Z", event_id: "a" }, { ts: at(1), event_id: "b" }],
    ["the larger id at the same time", { ts: at(1), event_id: "b" }, { ts: at(1), event_id: "a" }],
  ])("takes %s as newer (Webhook Event Delivery §6)", (_, newer, older) => {
    expect([isNewer(newer, older), isNewer(older, newer), isNewer(newer, newer)]).toEqual([true, false, false]);
    expect(isNewer(older, undefined)).toBe(true);
  });

  test("leads to the same state whatever the order of arrival (Webhook Event Delivery §6)", () => {
    const position = fc.record({
      sequence: fc.nat(5).map(String),
      ts: fc.integer({ min: 0, max: 5 }).map(at),
      event_id: fc.constantFrom("a", "b", "c", "d"),
    });
    const events = fc.uniqueArray(position, { selector: ({ event_id }) => event_id, minLength: 1 });
    const orders = events.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray([...all], { minLength: all.length })),
    );
    fc.assert(
      fc.property(orders, ([all, arrived]) => {
        expect(applied(arrived)).toEqual(all.toSorted(comparePositions).at(-1));
      }),
    );
  });
});

describe("the position of an event", () => {
  test("is its time without a sequence", () => {
    expect(positionOf(event)).toEqual({ ts: event.ts, event_id: event.event_id });
  });

  test.each([
    [7, "7"],
    ["0012", "0012"],
    ["9007199254740993", "9007199254740993"],
  ])("has the sequence %j", (revision, sequence) => {
    expect(positionOf({ ...event, data: { revision } }, "revision")).toMatchObject({ sequence });
  });

  test.each([undefined, null, -1, 1.5, 2 ** 53, "", "-1", "1e3", "x"])("refuses the sequence %j", (revision) => {
    expect(() => positionOf({ ...event, data: { revision } }, "revision")).toThrow(
      expect.objectContaining({ status: 422, error: "invalid_sequence" }),
    );
  });
});
