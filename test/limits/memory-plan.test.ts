import { describe, expect, test } from "vitest";
import { memoryOfProcess, planMemory } from "../../limits/memory-plan.ts";

const mebibytes = (count: number): number => count * 1024 ** 2;
const total = mebibytes(24_000);

describe("the memory of a process", () => {
  test.each([
    ["is the limit of the container", undefined, mebibytes(1024), 1024],
    ["has a usual size without a limit", undefined, undefined, 512],
    ["has a usual size with a limit of zero, as of cgroup v2 without one", undefined, 0, 512],
    ["ignores a limit that no machine has, as of cgroup v1 without one", undefined, 2 ** 64, 512],
    ["is the given one, whatever the limit", mebibytes(800), mebibytes(1024), 800],
    ["is at least what the program needs", undefined, mebibytes(64), 192],
  ])("%s", (_, requested, limit, expected) => {
    expect(memoryOfProcess(requested, { limit, total })).toBe(mebibytes(expected));
  });

  test("is that of a small machine without a limit", () => {
    expect(memoryOfProcess(undefined, { limit: undefined, total: mebibytes(256) })).toBe(mebibytes(256));
  });
});

describe("the sizes for a memory", () => {
  test.each([
    [192, 4, 115, { points: 11.25, finished: 3.75, responses: 5.625, snapshots: 5.625, repeats: 3.75 }],
    [256, 8, 153, { points: 15, finished: 5, responses: 7.5, snapshots: 7.5, repeats: 5 }],
    [512, 16, 307, { points: 30, finished: 10, responses: 15, snapshots: 15, repeats: 10 }],
    [1024, 16, 614, { points: 60, finished: 20, responses: 30, snapshots: 30, repeats: 20 }],
  ])("of %i MiB", (size, semiSpace, heap, caches) => {
    const plan = planMemory(mebibytes(size));
    expect(plan.flags.slice(1)).toEqual([`--max-semi-space-size=${semiSpace}`, `--max-old-space-size=${heap}`]);
    expect(plan.caches).toEqual(
      Object.fromEntries(Object.entries(caches).map(([name, count]) => [name, mebibytes(count)])),
    );
  });

  test("leave room beside the heap and the young generation", () => {
    for (const size of [192, 255, 256, 511, 512, 1024, 8192]) {
      const [semiSpace = 0, heap = 0] = planMemory(mebibytes(size))
        .flags.slice(1)
        .map((flag) => Number(flag.split("=")[1]));
      expect(heap + 3 * semiSpace).toBeLessThan(size * 0.7);
    }
  });
});
