import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { firstSeqToKeep } from "../../../../runtime/webhooks/maintenance/maintenance-jobs.ts";

describe("trimming the events stream", () => {
  test.each([
    ["drops nothing while four fifths are not used", { messages: 100, bytes: 800, firstSeq: 1 }, 100, undefined],
    ["drops the oldest down to seven tenths", { messages: 100, bytes: 1_000, firstSeq: 1 }, 100, 31],
    ["counts from the first event that is left", { messages: 100, bytes: 1_000, firstSeq: 501 }, 600, 531],
    ["keeps what is not routed yet", { messages: 100, bytes: 1_000, firstSeq: 1 }, 9, 10],
    ["drops nothing when nothing is routed", { messages: 100, bytes: 1_000, firstSeq: 1 }, 0, undefined],
  ])("%s", (_sentence, size, routedUpTo, expected) => {
    expect(firstSeqToKeep(size, 1_000, routedUpTo)).toBe(expected);
  });

  test("never deletes an event that is not routed", () => {
    const size = fc.record({ messages: fc.nat(1e6), bytes: fc.nat(1e9), firstSeq: fc.integer({ min: 1, max: 1e6 }) });
    fc.assert(
      fc.property(size, fc.nat(1e9), fc.nat(2e6), (given, bytesMax, routedUpTo) => {
        expect((firstSeqToKeep(given, bytesMax, routedUpTo) ?? 0) - 1).toBeLessThanOrEqual(routedUpTo);
      }),
    );
  });
});
