import { expect, test } from "vitest";
import { onAbort, untilAborted, waitInQueue, withinTime } from "../../limits/clock.ts";

const pending = (): Promise<never> => Promise.withResolvers<never>().promise;

test("a callback runs when the signal is aborted, at once if it already is, and not after its removal", () => {
  const ending = new AbortController();
  const called: string[] = [];
  onAbort(ending.signal, () => called.push("kept"));
  onAbort(ending.signal, () => called.push("removed"))();
  expect(called).toEqual([]);
  ending.abort();
  onAbort(ending.signal, () => called.push("late"));
  onAbort(undefined, () => called.push("no signal"))();
  expect(called).toEqual(["kept", "late"]);
});

test("a result that comes first is returned, and an abort that comes first rejects with its reason", async () => {
  const ending = new AbortController();
  expect(await untilAborted(Promise.resolve(1), ending.signal)).toBe(1);
  const waiting = untilAborted(pending(), ending.signal);
  ending.abort(new Error("over"));
  await expect(waiting).rejects.toThrow("over");
  await expect(untilAborted(pending(), ending.signal)).rejects.toThrow("over");
});

test("a result within its time is returned, and a later one rejects with the error of the limit", async () => {
  const late = (): Error => new Error("late");
  expect(await withinTime(Promise.resolve(1), 60_000, late)).toBe(1);
  await expect(withinTime(pending(), 1, late)).rejects.toThrow("late");
  await expect(withinTime(Promise.reject(new Error("failed")), 60_000, late)).rejects.toThrow("failed");
});

test("an aborted entry leaves its queue before the next place passes on", async () => {
  const ending = new AbortController();
  const queue = new Set<() => void>();
  const aborted = waitInQueue(queue, ending.signal);
  const entered = waitInQueue(queue);
  expect(queue.size).toBe(2);
  ending.abort(new Error("over"));
  expect(queue.size).toBe(1);
  for (const enter of queue) enter();
  await entered;
  await expect(aborted).rejects.toThrow("over");
});
