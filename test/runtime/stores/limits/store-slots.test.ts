import { describe, expect, test } from "vitest";
import { createStoreSilence, createStoreSlots } from "../../../../runtime/stores/store-connection.ts";
import { createRunningClock } from "../../../../limits/clock.ts";
import { waitFor } from "../../../support/wait.ts";
import { settle } from "../../../support/manual-clock.ts";

const never = new AbortController().signal;

/** Enters for requests in order, and notes who got a place. */
function entering(size: number) {
  const slots = createStoreSlots(size);
  const entered: string[] = [];
  const places: (() => void)[] = [];
  const enter = (turn: string, signal = never): Promise<void> =>
    slots.enter(signal, turn).then((leave) => {
      entered.push(turn);
      places.push(leave);
    });
  return { entered, enter, leaveNext: () => places.shift()?.() };
}

describe("the places of a store", () => {
  test("go to API requests in turn, not to one with many reads first", async () => {
    const { entered, enter, leaveNext } = entering(1);
    const all = ["a", "a", "a", "a", "b"].map((turn) => enter(turn));
    await settle();
    for (let left = 0; left < 5; left += 1) {
      leaveNext();
      await settle();
    }
    await Promise.all(all);
    expect(entered.join("")).toBe("aabaa");
  });

  test("are not taken by a read whose time is over, which leaves the queue", async () => {
    const { entered, enter, leaveNext } = entering(1);
    const controller = new AbortController();
    const first = enter("a");
    const late = enter("b", controller.signal);
    const third = enter("c");
    await first;
    controller.abort(new Error("late"));
    await expect(late).rejects.toThrow("late");
    await expect(enter("d", controller.signal)).rejects.toThrow("late");
    leaveNext();
    await third;
    expect(entered.join("")).toBe("ac");
  });

  test("are never more than there are, and are freed once", async () => {
    const slots = createStoreSlots(2);
    const leave = await slots.enter(never, "a");
    await slots.enter(never, "a");
    let entered = 0;
    for (const turn of ["b", "c"]) void slots.enter(never, turn).then(() => (entered += 1));
    leave();
    leave();
    await settle();
    expect(entered).toBe(1);
  });
});

describe("the silence of a store", () => {
  test("does not include the time in which this process stood still", async () => {
    let standMs = 0;
    const clock = createRunningClock(() => performance.now() + standMs);
    const silence = createStoreSilence(900, clock);
    const startedAtMs = silence.nowMs();
    const end = silence.begin();
    standMs = 60_000;
    expect(silence.wasSilentSince(startedAtMs)).toBe(false);
    const silent = () => silence.wasSilentSince(startedAtMs);
    expect(await waitFor(silent, { timeoutMs: 10_000, what: "a silence while this process runs" })).toBe(true);
    end(false);
  });

  function watch() {
    let nowMs = 0;
    const silence = createStoreSilence(900, { nowMs: () => nowMs, start: () => () => undefined });
    return { silence, pass: (ms: number) => (nowMs += ms) };
  }

  test("is proven by a request that had its full time, before and after its end", () => {
    const { silence, pass } = watch();
    const end = silence.begin();
    pass(899);
    expect(silence.wasSilentSince(0)).toBe(false);
    pass(1);
    expect(silence.wasSilentSince(0)).toBe(true);
    end(false);
    expect([silence.wasSilentSince(900), silence.wasSilentSince(901)]).toEqual([true, false]);
  });

  test("is not proven by a request that had less", () => {
    const { silence, pass } = watch();
    pass(500);
    const end = silence.begin();
    pass(899);
    end(false);
    pass(10_000);
    expect(silence.wasSilentSince(0)).toBe(false);
  });

  test("is not proven while other requests get responses", () => {
    const { silence, pass } = watch();
    const end = silence.begin();
    for (let round = 0; round < 4; round += 1) {
      const other = silence.begin();
      pass(300);
      other(true);
    }
    end(false);
    expect(silence.wasSilentSince(0)).toBe(false);
  });
});
