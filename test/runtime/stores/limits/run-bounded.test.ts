import { describe, expect, test } from "vitest";
import { runBounded } from "../../../../runtime/stores/limits/fan-out.ts";

describe("bounded work", () => {
  test("runs at most the given number of jobs at once and returns values in their order", async () => {
    let [running, most] = [0, 0];
    const values = await runBounded([5, 1, 4, 2, 3, 0], 2, async (job) => {
      running += 1;
      most = Math.max(most, running);
      for (let turn = 0; turn < job; turn += 1) await Promise.resolve();
      running -= 1;
      return job * 10;
    });
    expect(values).toEqual([50, 10, 40, 20, 30, 0]);
    expect(most).toBe(2);
  });

  test("starts no further job after a failure", async () => {
    const begun: number[] = [];
    const run = async (job: number): Promise<void> => {
      begun.push(job);
      await Promise.resolve();
      if (job === 1) throw new Error("one failed");
    };
    await expect(runBounded([0, 1, 2, 3, 4, 5, 6, 7], 2, run)).rejects.toThrow("one failed");
    expect(begun.length).toBeLessThan(5);
  });

  test("without jobs ends at once", async () => {
    expect(await runBounded([], 3, () => Promise.reject(new Error("never")))).toEqual([]);
  });
});
