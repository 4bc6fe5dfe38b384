import { expect, test } from "vitest";
import { processCount } from "../../../runtime/processes/process-count.ts";

test.each([
  ["a whole number is taken as it is", "3", 16, 3],
  ["one is one process, without a supervisor", "1", 16, 1],
  ["more processes than cores are possible", "64", 2, 64],
  ["auto is one process per core", "auto", 4, 4],
  ["auto has a bound on large machines", "auto", 96, 8],
  ["auto is at least one", "auto", 0, 1],
  ["auto counts whole cores", "auto", 2.5, 2],
  ["auto is one for a part of a core", "auto", 0.25, 1],
  ["none is refused", "0", 4, undefined],
  ["too many are refused", "65", 4, undefined],
  ["a negative number is refused", "-1", 4, undefined],
  ["a fraction is refused", "1.5", 4, undefined],
  ["another word is refused", "all", 4, undefined],
  ["nothing is refused", "", 4, undefined],
])("the number of processes: %s", (_row, text, cores, count) => {
  expect(processCount(text, cores)).toBe(count);
});
