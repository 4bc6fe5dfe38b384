import { expect, test } from "vitest";
import { sumOf } from "./scrapes.ts";

const text = `# HELP a_total Text.
a_total{outcome="delivered",pod="x"} 3
a_total{outcome="retry"} 4
a_total_more{outcome="delivered"} 5
b_total 7
`;

test("a sum is over the series of one metric that have the labels", () => {
  expect(sumOf(text, "a_total", {})).toBe(7);
  expect(sumOf(text, "a_total", { outcome: "delivered" })).toBe(3);
  expect(sumOf(text, "b_total", {})).toBe(7);
  expect(sumOf(text, "c_total", {})).toBe(0);
});
