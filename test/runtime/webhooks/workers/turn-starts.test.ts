import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { TurnStarts } from "../../../../runtime/webhooks/workers/turn-starts.ts";

test("starts are spread over turns of the event loop, in order, so that other work runs between them", async () => {
  const starts = new TurnStarts(4);
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
  const starts = new TurnStarts(1);
  await starts.next();
  await nextTurn();
  await nextTurn();
  let isStarted = false;
  void starts.next().then(() => (isStarted = true));
  await Promise.resolve();
  await Promise.resolve();
  expect(isStarted).toBe(true);
});
