import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createStreamClock } from "../../../../runtime/nats/connection/stream-clock.ts";

describe("the stream clock", () => {
  test("is this machine's clock before the first sample", () => {
    expect(createStreamClock(() => 1_000).now()).toBe(1_000);
  });

  test("uses the sample with the shortest round trip", () => {
    const clock = createStreamClock(
      () => 0,
      () => 1_000,
    );
    clock.observe({ sentAtMs: 0, storedAtMs: 5_900, receivedAtMs: 2_000 });
    clock.observe({ sentAtMs: 0, storedAtMs: 5_001, receivedAtMs: 2 });
    clock.observe({ sentAtMs: 0, storedAtMs: 5_700, receivedAtMs: 900 });
    expect(clock.now()).toBe(6_000);
  });

  test("is off by at most half the quickest round trip", () => {
    const trip = fc.record({ there: fc.nat(500), back: fc.nat(500) });
    fc.assert(
      fc.property(
        fc.integer({ min: -1e6, max: 1e6 }),
        fc.array(trip, { minLength: 1, maxLength: 16 }),
        (offset, trips) => {
          const clock = createStreamClock(
            () => 0,
            () => 0,
          );
          trips.forEach(({ there, back }, index) => {
            const sentAtMs = index * 10_000;
            clock.observe({ sentAtMs, storedAtMs: sentAtMs + there + offset, receivedAtMs: sentAtMs + there + back });
          });
          const quickest = Math.min(...trips.map(({ there, back }) => there + back));
          expect(Math.abs(clock.offsetMs() - offset)).toBeLessThanOrEqual(quickest / 2);
          expect(clock.errorMs()).toBe(quickest / 2 + 1);
        },
      ),
    );
  });

  const hourMs = 3_600_000;

  test("stays within its stated error at every instant, however this machine's wall clock steps", () => {
    const step = fc.record({
      tripMs: fc.nat(400),
      backShare: fc.double({ min: 0, max: 1, noNaN: true }),
      wallStepMs: fc.constantFrom(0, hourMs, -hourMs, 60_000, -1),
      isInTrip: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: -1e6, max: 1e6 }),
        fc.array(step, { minLength: 1, maxLength: 40 }),
        (skewMs, all) => {
          const it = clocksOf(skewMs);
          for (const { tripMs, backShare, wallStepMs, isInTrip } of all) {
            if (!isInTrip) it.wallMs += wallStepMs;
            it.sample(tripMs * (1 - backShare), tripMs * backShare, isInTrip ? wallStepMs : 0);
            expect(it.errorNowMs()).toBeLessThanOrEqual(it.clock.errorMs() + 1);
            it.pass(500);
            expect(it.errorNowMs()).toBeLessThanOrEqual(it.clock.errorMs() + 1);
          }
        },
      ),
    );
  });

  test.each([
    ["after JetStream's clock was set by an hour", (it: Clocks) => (it.skewMs += hourMs)],
    ["after JetStream's clock was set back", (it: Clocks) => (it.skewMs -= hourMs)],
    ["after this machine was suspended, when its monotonic clock stood still", (it: Clocks) => (it.trueMs += 60_000)],
  ])("is right again with the next sample %s", (_sentence, change) => {
    const it = clocksOf(1_234);
    for (let count = 0; count < 16; count += 1) {
      it.sample(0.2, 0.2);
      it.pass(500);
    }
    change(it);
    it.sample(100, 150);
    expect(it.clock.errorMs()).toBe(126);
    expect(it.errorNowMs()).toBeLessThanOrEqual(126);
  });

  test("ignores a negative round trip", () => {
    const it = clocksOf(0);
    it.sample(2, 2);
    const offsetMs = it.clock.offsetMs();
    it.clock.observe({ sentAtMs: 5_000, storedAtMs: 9_000_000, receivedAtMs: 4_000 });
    expect([it.clock.offsetMs(), it.clock.errorMs()]).toEqual([offsetMs, 3]);
  });
});

/** A machine and JetStream, whose times the test advances. */
interface Clocks {
  readonly clock: ReturnType<typeof createStreamClock>;
  /** The machine's wall clock. */
  wallMs: number;
  /** JetStream's clock, as its distance to the true time. */
  skewMs: number;
  /** The true time. */
  trueMs: number;
  /** Lets time pass on all clocks. */
  pass(ms: number): void;
  sample(thereMs: number, backMs: number, wallStepMs?: number): void;
  /** Error of the estimate now. */
  errorNowMs(): number;
}

function clocksOf(skewMs: number): Clocks {
  let monotonicMs = 77.5;
  const it: Clocks = {
    clock: createStreamClock(
      () => it.wallMs,
      () => monotonicMs,
    ),
    wallMs: 1_800_000_000_000,
    skewMs,
    trueMs: 1_800_000_000_000,
    pass: (ms) => {
      monotonicMs += ms;
      it.wallMs += ms;
      it.trueMs += ms;
    },
    sample: (thereMs, backMs, wallStepMs = 0) => {
      const sentAtMs = it.clock.localMs();
      it.pass(thereMs);
      const storedAtMs = Math.floor(it.trueMs + it.skewMs);
      it.wallMs += wallStepMs;
      it.pass(backMs);
      it.clock.observe({ sentAtMs, storedAtMs, receivedAtMs: it.clock.localMs() });
    },
    errorNowMs: () => Math.abs(it.clock.now() - (it.trueMs + it.skewMs)),
  };
  return it;
}
