import { expect, test } from "vitest";
import { exitOf } from "../../../cli/metrics/catalog-check.ts";

test.each([
  [[], "done", "done"],
  [["True", "NotChecked"], "done", "done"],
  [["True", "False"], "problems", "problems"],
  [["False", "Unknown"], "problems", "problems"],
  [["True", "Unknown"], "problems", "undecided"],
] as const)("metrics with the results %o exit as %s, and as %s of a folder", (statuses, exit, ofFolder) => {
  const checks = statuses.map((status) => ({ status }));
  expect([exitOf(checks, false), exitOf(checks, true)]).toEqual([exit, ofFolder]);
});
