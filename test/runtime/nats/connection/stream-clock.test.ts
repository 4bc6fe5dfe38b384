import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createStreamClock } from "../../../../runtime/nats/connection/stream-clock.ts";

describe("the stream clock", () => {
  test("is this machine's clock before the first sample", () => {
    expect(createStreamClock(() => 1_000).now()).toBe(1_000);
  });

  test("uses the sample with the shortest round trip", () => {
    const clock = createStreamClock(() => 1_000);
    clock.observe({ sentAtMs: 0, storedAtMs: 5_900, answeredAtMs: 2_000 });
    clock.observe({ sentAtMs: 0, storedAtMs: 5_001, answeredAtMs: 2 });
    clock.observe({ sentAtMs: 0, storedAtMs: 5_700, answeredAtMs: 900 });
    expect(clock.now()).toBe(6_000);
  });

  test("is off by at most half the quickest round trip", () => {
    const trip = fc.record({ there: fc.nat(500), back: fc.nat(500) });
    fc.assert(
      fc.property(
        fc.integer({ min: -1e6, max: 1e6 }),
        fc.array(trip, { minLength: 1, maxLength: 16 }),
        (offset, trips) => {
          const clock = createStreamClock(() => 0);
          trips.forEach(({ there, back }, index) => {
            const sentAtMs = index * 10_000;
            clock.observe({ sentAtMs, storedAtMs: sentAtMs + there + offset, answeredAtMs: sentAtMs + there + back });
          });
          const quickest = Math.min(...trips.map(({ there, back }) => there + back));
          expect(Math.abs(clock.offsetMs() - offset)).toBeLessThanOrEqual(quickest / 2);
          expect(clock.errorMs()).toBe(quickest / 2 + 1);
        },
      ),
    );
  });
});
