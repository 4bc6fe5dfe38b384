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
    [192, 4, 115, { points: 18, finished: 6, responses: 9, snapshots: 9, repeats: 6 }],
    [256, 8, 153, { points: 24, finished: 8, responses: 12, snapshots: 12, repeats: 8 }],
    [512, 16, 307, { points: 48, finished: 16, responses: 24, snapshots: 24, repeats: 16 }],
    [1024, 16, 614, { points: 96, finished: 32, responses: 48, snapshots: 48, repeats: 32 }],
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
