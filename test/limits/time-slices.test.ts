import { describe, expect, test } from "vitest";
import { createTimeSlices, sliceMs } from "../../limits/clock.ts";

/** Items that each take some milliseconds of a clock. */
function* work(
  name: string,
  done: string[],
  { count, each, clock }: { count: number; each: number; clock: { ms: number } },
): Generator<string> {
  for (let index = 0; index < count; index += 1) {
    clock.ms += each;
    done.push(name);
    yield `${name}${index}`;
  }
}

describe("work in time slices", () => {
  test("that is short ends in one slice", async () => {
    const clock = { ms: 0 };
    const done: string[] = [];
    const collected = createTimeSlices(() => clock.ms).collect(
      work("a", done, { count: 9, each: sliceMs / 10, clock }),
    );
    expect(done).toHaveLength(9);
    expect(await collected).toEqual(Array.from({ length: 9 }, (_, index) => `a${index}`));
  });

  test("that is long yields to other work, and one of several continues in each round", async () => {
    const clock = { ms: 0 };
    const done: string[] = [];
    const pace = createTimeSlices(() => clock.ms);
    let rounds = 0;
    const between: number[] = [];
    let isOver = false;
    const count = (): void => {
      rounds += 1;
      between.push(done.length);
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const [a, b] = await Promise.all([
      pace.collect(work("a", done, { count: 10, each: sliceMs, clock })),
      pace.collect(work("b", done, { count: 10, each: sliceMs, clock })),
    ]);
    isOver = true;
    expect([a.length, b.length]).toEqual([10, 10]);
    expect(rounds).toBeGreaterThanOrEqual(18);
    expect(Math.max(...between.slice(1).map((total, round) => total - (between[round] ?? 0)))).toBeLessThanOrEqual(2);
    expect(done.join("")).toMatch(/^(?:ab){10}$/u);
  });

  test("fails as the work does", async () => {
    const failing = function* (): Generator<number> {
      yield 1;
      throw new Error("broken");
    };
    await expect(createTimeSlices().collect(failing())).rejects.toThrow("broken");
  });
});
