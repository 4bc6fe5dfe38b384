import { describe, expect, test } from "vitest";
import { fanOut } from "../../../../runtime/stores/limits/fan-out.ts";
import { StoreError } from "../../../../runtime/stores/store-error.ts";

const storeOf = (): string => "eu";
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
    const outcomes = await fanOut({ jobs: ["a", "bad", "c"], storeOf, run }, { deadlineMs: 1_000, signal: never() });
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
    const outcomes = await fanOut({ jobs: [quick, hang, deaf], storeOf, run }, { deadlineMs: 20, signal: never() });
    expect(outcomes.map((outcome) => (outcome.ok ? outcome.value : outcome.error.kind))).toEqual([
      "quick",
      "late",
      "late",
    ]);
  });

  test("lets no job wait for those of another store", async () => {
    const jobs = Array.from({ length: 200 }, (_, index) => ({ store: index % 2 === 0 ? "hung" : "eu", index }));
    const run = ({ store }: { readonly store: string }, signal: AbortSignal): Promise<string> =>
      store === "hung" ? hang(signal) : Promise.resolve(store);
    const outcomes = await fanOut({ jobs, storeOf: ({ store }) => store, run }, { deadlineMs: 50, signal: never() });
    expect(outcomes.map(({ ok }) => ok)).toEqual(jobs.map(({ store }) => store === "eu"));
  });

  test("starts no job after its deadline", async () => {
    let started = 0;
    const run = (_: number, signal: AbortSignal): Promise<never> => {
      started += 1;
      return hang(signal);
    };
    const jobs = Array.from({ length: 200 }, (_, index) => index);
    for (const deadlineMs of [0, 20]) await fanOut({ jobs, storeOf, run }, { deadlineMs, signal: never() });
    expect(started).toBe(32);
  });

  test("ends with the caller's reason when the caller aborts", async () => {
    const controller = new AbortController();
    const running = fanOut(
      { jobs: ["a"], storeOf, run: (_, signal) => hang(signal) },
      { deadlineMs: 10_000, signal: controller.signal },
    );
    controller.abort(new Error("the caller left"));
    await expect(running).rejects.toThrow("the caller left");
  });

  test("starts no job for a caller that has aborted before", async () => {
    let asked = 0;
    const run = async (): Promise<void> => {
      asked += 1;
    };
    await expect(
      fanOut({ jobs: ["a"], storeOf, run }, { deadlineMs: 10, signal: AbortSignal.abort(new Error("gone")) }),
    ).rejects.toThrow("gone");
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
    await expect(
      fanOut({ jobs: ["waits", "bug"], storeOf, run }, { deadlineMs: 10_000, signal: never() }),
    ).rejects.toThrow("a bug");
    expect(cancelled).toBeInstanceOf(TypeError);
  });
});
