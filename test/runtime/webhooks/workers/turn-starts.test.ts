import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { waitFor } from "../../../support/wait.ts";
import { TurnStarts } from "../../../../runtime/webhooks/workers/turn-starts.ts";

test("starts are spread over turns of the event loop, in order, so that other work runs between them", async () => {
  const starts = new TurnStarts({ startsMax: 4 });
  const order: number[] = [];
  const all = Array.from({ length: 10 }, async (_, place) => {
    await starts.next();
    order.push(place);
  });
  const counts: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    await Promise.resolve();
    await Promise.resolve();
    counts.push(order.length);
    await nextTurn();
  }
  await Promise.all(all);
  expect(counts).toEqual([4, 8, 10]);
  expect(order).toEqual(Array.from({ length: 10 }, (_, place) => place));
});

test("a start after an idle turn does not wait", async () => {
  const starts = new TurnStarts({ startsMax: 1 });
  await starts.next();
  await nextTurn();
  await nextTurn();
  let isStarted = false;
  void starts.next().then(() => (isStarted = true));
  await Promise.resolve();
  await Promise.resolve();
  expect(isStarted).toBe(true);
});

describe("attempts at once", () => {
  const endsMax = 8;

  /** Attempts that wait or run. */
  function attempts(count: number, isLimited = true) {
    const starts = new TurnStarts({ startsMax: 4, endsMax, isLimited });
    const running: number[] = [];
    for (let place = 0; place < count; place += 1) void starts.next().then(() => running.push(place));
    const turns = async (howMany: number): Promise<void> => {
      for (let turn = 0; turn < howMany; turn += 1) await nextTurn();
    };
    /** Some end together. */
    const end = (ends: number): void => running.splice(0, ends).forEach(() => starts.end());
    return { running, turns, end };
  }

  /** How many run each time before a fast endpoint answers all of them during a turn. */
  async function fast({ running, turns, end }: ReturnType<typeof attempts>): Promise<readonly number[]> {
    const most: number[] = [];
    for (let count = 0; count < 60; count += 1) {
      await turns(30);
      most.push(running.length);
      end(running.length);
    }
    return most;
  }

  test("are reduced to few when a fast endpoint answers all of them during a turn", async () => {
    const most = await fast(attempts(2_000));
    expect(most[0]).toBeGreaterThan(10 * endsMax);
    expect(most.toSorted((a, b) => a - b)[30]).toBeLessThanOrEqual(endsMax + 1);
  });

  test("are not reduced in a lane of several endpoints, of which some may be slow", async () => {
    expect((await fast(attempts(8_000, false))).at(-1)).toBeGreaterThan(10 * endsMax);
  });

  test("are not reduced while they end spread over turns", async () => {
    const it = attempts(400);
    for (let count = 0; count < 60; count += 1) {
      await it.turns(2);
      it.end(2);
    }
    expect(it.running.length).toBeGreaterThan(10 * endsMax);
  });

  test("double as long as none ends, because the endpoint has become slow", async () => {
    const it = attempts(2_000);
    await fast(it);
    const more = async (): Promise<boolean> => (await it.turns(30), it.running.length > 8 * endsMax);
    expect(await waitFor(more, { timeoutMs: 5_000, what: "more attempts at once" })).toBe(true);
  });
});
