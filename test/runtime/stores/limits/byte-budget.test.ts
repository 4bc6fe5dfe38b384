import { expect, test } from "vitest";
import { createByteBudget } from "../../../../runtime/stores/limits/fan-out.ts";

test("a budget of bytes is shared by all reads, and bytes above it are too large", () => {
  const budget = createByteBudget(100);
  budget.take(60);
  budget.check(40);
  expect(() => budget.check(41)).toThrow(expect.objectContaining({ kind: "too_large" }));
  budget.take(40);
  expect(budget.taken()).toBe(100);
  expect(() => budget.take(1)).toThrow(expect.objectContaining({ kind: "too_large" }));
});
