import { expect, test } from "vitest";
import { restartPause } from "../../../runtime/processes/restart-pause.ts";

test("an ended process starts again at once, then later and later within a bound", () => {
  const pauses: number[] = [];
  let ends = 0;
  for (let end = 0; end < 8; end += 1) {
    const next = restartPause(1000, ends);
    pauses.push(next.pauseMs);
    ends = next.ends;
  }
  expect(pauses).toEqual([0, 250, 500, 1000, 2000, 4000, 5000, 5000]);
});

test("a process that served for a minute starts again at once", () => {
  expect(restartPause(59_999, 6)).toEqual({ pauseMs: 5000, ends: 7 });
  expect(restartPause(60_000, 6)).toEqual({ pauseMs: 0, ends: 1 });
});
