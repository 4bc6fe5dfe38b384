import { describe, expect, test } from "vitest";
import { Coalescer } from "../../../operator/publish/coalescer.ts";
import { ManualClock, settle } from "../../support/manual-clock.ts";

/** A coalescer of 300 ms whose runs the test ends. */
function coalescerOn(clock: ManualClock, rest: { readonly restFactor?: number; readonly restMsMax?: number } = {}) {
  const ends: Array<(busyMs: number | undefined) => void> = [];
  const starts: number[] = [];
  const run = (): Promise<number | undefined> => {
    starts.push(clock.nowMs());
    return new Promise((resolve) => ends.push(resolve));
  };
  const coalescer = new Coalescer({ delayMs: 300, clock, run, ...rest });
  const end = async (busyMs?: number): Promise<void> => {
    ends.shift()?.(busyMs);
    await settle();
  };
  return { coalescer, starts, end };
}

describe("changes", () => {
  test("within the delay of the first are one run, which later ones do not put off", async () => {
    const clock = new ManualClock(0, 0);
    const { coalescer, starts, end } = coalescerOn(clock);
    for (let change = 0; change < 10; change += 1) {
      coalescer.touch();
      clock.advance(29);
    }
    expect(starts).toEqual([]);
    clock.advance(10);
    expect(starts).toEqual([300]);
    await end();
    clock.advance(1_000);
    expect(starts).toEqual([300]);
  });

  test("during a run are for the next, which begins when that has ended and the delay is over", async () => {
    const clock = new ManualClock(0, 0);
    const { coalescer, starts, end } = coalescerOn(clock);
    coalescer.touch();
    clock.advance(300);
    coalescer.touch();
    clock.advance(1_000);
    coalescer.touch();
    expect(starts).toEqual([300]);
    await end();
    expect(starts).toEqual([300, 1_300]);
    await end();
    clock.advance(1_000);
    expect(starts).toEqual([300, 1_300]);
  });

  test("wait for no share of the time in which a run itself waited", async () => {
    const clock = new ManualClock(0, 0);
    const { coalescer, starts, end } = coalescerOn(clock, { restFactor: 2, restMsMax: 1_000 });
    coalescer.touch();
    clock.advance(300);
    coalescer.touch();
    clock.advance(2_000);
    await end(50);
    clock.advance(99);
    expect(starts).toEqual([300]);
    clock.advance(1);
    expect(starts).toEqual([300, 2_400]);
  });

  test("after a run wait until others had their share of the time, within a bound", async () => {
    const clock = new ManualClock(0, 0);
    const { coalescer, starts, end } = coalescerOn(clock, { restFactor: 2, restMsMax: 1_000 });
    coalescer.touch();
    clock.advance(300);
    clock.advance(400);
    coalescer.touch();
    await end();
    // It took 400 ms and ended at 700.
    clock.advance(799);
    expect(starts).toEqual([300]);
    clock.advance(1);
    expect(starts).toEqual([300, 1_500]);
    coalescer.touch();
    clock.advance(5_000);
    await end();
    clock.advance(999);
    expect(starts).toEqual([300, 1_500]);
    clock.advance(1);
    expect(starts).toEqual([300, 1_500, 7_500]);
    await end();
    clock.advance(5_000);
    coalescer.touch();
    clock.advance(300);
    expect(starts).toEqual([300, 1_500, 7_500, 12_800]);
  });

  test("after a stop are none, and the stop waits for the run", async () => {
    const clock = new ManualClock(0, 0);
    const { coalescer, starts, end } = coalescerOn(clock);
    coalescer.touch();
    clock.advance(300);
    coalescer.touch();
    let hasStopped = false;
    const stopped = coalescer.stop().then(() => (hasStopped = true));
    await settle();
    expect(hasStopped).toBe(false);
    await end();
    await stopped;
    clock.advance(1_000);
    expect(starts).toEqual([300]);
  });
});
