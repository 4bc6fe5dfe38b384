import { expect, test } from "vitest";
import { createSingleFlight } from "../../limits/bounded-map.ts";

test("concurrent calls with one key run once, and the next call runs anew", async () => {
  const once = createSingleFlight<number>();
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const work = async (): Promise<number> => {
    begun += 1;
    await gate.promise;
    return begun;
  };
  const both = [once("a", work), once("a", work)];
  const other = once("b", work);
  expect(begun).toBe(2);
  gate.resolve();
  expect([...(await Promise.all(both)), await other]).toEqual([2, 2, 2]);
  expect(await once("a", work)).toBe(3);
});

test("a call that fails rejects for all its callers, and the next call runs anew", async () => {
  const once = createSingleFlight<number>();
  const failing = [1, 2].map(() => once("a", () => Promise.reject(new Error("no"))));
  expect(await Promise.allSettled(failing)).toMatchObject([{ status: "rejected" }, { status: "rejected" }]);
  expect(await once("a", () => Promise.resolve(7))).toBe(7);
});

/** A call that ends when its test says so, and the signals that its runs were given. */
function heldCall() {
  const signals: AbortSignal[] = [];
  const gate = Promise.withResolvers<number>();
  const call = (signal: AbortSignal): Promise<number> => {
    signals.push(signal);
    return gate.promise;
  };
  return { signals, gate, call };
}

test("a caller whose signal is aborted rejects with its reason, and the call goes on for the others", async () => {
  const once = createSingleFlight<number>();
  const { signals, gate, call } = heldCall();
  const leaving = new AbortController();
  const [left, stayed] = [once("a", call, leaving.signal), once("a", call, new AbortController().signal)];
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  gate.resolve(7);
  expect(await stayed).toBe(7);
  expect(signals[0]?.aborted).toBe(false);
});

test("a call is aborted when its last caller is, and the next caller starts a new one", async () => {
  const once = createSingleFlight<number>();
  const { signals, gate, call } = heldCall();
  const leaving = new AbortController();
  const left = [once("a", call, leaving.signal), once("a", call, leaving.signal)];
  leaving.abort(new Error("left"));
  expect(await Promise.allSettled(left)).toMatchObject([{ status: "rejected" }, { status: "rejected" }]);
  const next = once("a", call, new AbortController().signal);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  gate.resolve(7);
  expect(await next).toBe(7);
});

test("a call with a caller that has no signal is never aborted", async () => {
  const once = createSingleFlight<number>();
  const { signals, gate, call } = heldCall();
  const leaving = new AbortController();
  const [left, stayed] = [once("a", call, leaving.signal), once("a", call)];
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  gate.resolve(7);
  expect(await stayed).toBe(7);
});

test("a signal that is aborted already starts no call", async () => {
  const once = createSingleFlight<number>();
  const { signals, call } = heldCall();
  await expect(once("a", call, AbortSignal.abort(new Error("left")))).rejects.toThrow("left");
  expect(signals).toEqual([]);
});
