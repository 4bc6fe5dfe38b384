import { describe, expect, test } from "vitest";
import { fanOut } from "../../../../runtime/stores/limits/fan-out.ts";
import { StoreError } from "../../../../runtime/stores/store-error.ts";

const never = (): AbortSignal => new AbortController().signal;
/** Ends only when it is cancelled. */
const hang = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });

describe("a fan-out", () => {
  test("returns outcomes in the order of the jobs, failures included", async () => {
    const run = async (job: string): Promise<string> => {
      if (job === "bad") throw new StoreError("unreachable", "no route");
      return job.toUpperCase();
    };
    const outcomes = await fanOut(["a", "bad", "c"], run, { deadlineMs: 1_000, signal: never() });
    expect(outcomes.map((outcome) => (outcome.ok ? outcome.value : outcome.error.kind))).toEqual([
      "A",
      "unreachable",
      "C",
    ]);
  });

  test("ends a job as late at the deadline, even if it ignores its signal", async () => {
    const deaf = (): Promise<string> => new Promise(() => undefined);
    const quick = async (): Promise<string> => "quick";
    const run = (job: (signal: AbortSignal) => Promise<string>, signal: AbortSignal): Promise<string> => job(signal);
    const outcomes = await fanOut([quick, hang, deaf], run, { deadlineMs: 20, signal: never() });
    expect(outcomes.map((outcome) => (outcome.ok ? outcome.value : outcome.error.kind))).toEqual([
      "quick",
      "late",
      "late",
    ]);
  });

  test("ends with the caller's reason when the caller aborts", async () => {
    const controller = new AbortController();
    const running = fanOut(["a"], (_, signal) => hang(signal), { deadlineMs: 10_000, signal: controller.signal });
    controller.abort(new Error("the caller left"));
    await expect(running).rejects.toThrow("the caller left");
  });

  test("starts no job for a caller that has aborted before", async () => {
    let asked = 0;
    const run = async (): Promise<void> => {
      asked += 1;
    };
    await expect(fanOut(["a"], run, { deadlineMs: 10, signal: AbortSignal.abort(new Error("gone")) })).rejects.toThrow(
      "gone",
    );
    expect(asked).toBe(0);
  });

  test("cancels the other jobs when one throws an error that is not of a store", async () => {
    let cancelled: unknown;
    const run = (job: string, signal: AbortSignal): Promise<never> => {
      if (job === "bug") return Promise.reject(new TypeError("a bug"));
      signal.addEventListener("abort", () => {
        cancelled = signal.reason;
      });
      return hang(signal);
    };
    await expect(fanOut(["waits", "bug"], run, { deadlineMs: 10_000, signal: never() })).rejects.toThrow("a bug");
    expect(cancelled).toBeInstanceOf(TypeError);
  });
});
