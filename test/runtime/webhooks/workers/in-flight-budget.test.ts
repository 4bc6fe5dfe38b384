import { expect, test } from "vitest";
import { createInFlightBudget } from "../../../../runtime/webhooks/workers/in-flight-budget.ts";

test("a share is a quarter of the free budget, and at least one", () => {
  const budget = createInFlightBudget(100);
  expect(budget.share()).toBe(25);
  Array.from({ length: 60 }, () => budget.enter());
  expect(budget.share()).toBe(10);
  Array.from({ length: 50 }, () => budget.enter());
  expect(budget.share()).toBe(1);
  Array.from({ length: 50 }, () => budget.leave());
  expect(budget.share()).toBe(10);
});

test("partners that do not respond leave a share for a new one", () => {
  const budget = createInFlightBudget(4_096);
  for (let partner = 0; partner < 16; partner += 1) {
    Array.from({ length: Math.min(256, budget.share()) }, () => budget.enter());
  }
  expect(budget.share()).toBeGreaterThan(16);
});
