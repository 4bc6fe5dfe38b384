import { expect, test } from "vitest";
import { exitOf } from "../../../cli/metrics/catalog-check.ts";

test.each([
  [[], "done"],
  [["True", "NotChecked"], "done"],
  [["True", "False"], "problems"],
  [["True", "Unknown"], "problems"],
] as const)("metrics with the results %o exit as %s", (statuses, exit) => {
  expect(exitOf(statuses.map((status) => ({ status })))).toBe(exit);
});
