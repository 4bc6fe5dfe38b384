import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { TurnBudget } from "../../../../runtime/webhooks/ingest/turn-budget.ts";

test("events that arrive at once share the turns of the event loop", async () => {
  const budget = new TurnBudget();
  const done: number[] = [];
  const event = async (index: number) => {
    while (budget.isSpent) await budget.next;
    budget.spend(15_000);
    done.push(index);
  };
  const all = Promise.all([0, 1, 2, 3, 4].map(event));
  const after: number[] = [done.length];
  while (done.length < 5) {
    await setImmediate();
    after.push(done.length);
  }
  await all;
  // Two of 15,000 steps in each turn of 20,000, in the order in which they came.
  expect(done).toEqual([0, 1, 2, 3, 4]);
  expect(after.map((count, index) => count - (after[index - 1] ?? 0)).every((count) => count <= 2)).toBe(true);
  await setImmediate();
  expect(budget.isSpent).toBe(false);
});
