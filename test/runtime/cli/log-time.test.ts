import { expect, test } from "vitest";
import { createLogTime } from "../../../runtime/cli/serving/log-time.ts";

const newYearMs = Date.UTC(2026, 11, 31, 23, 59, 59);

test("each line has its own time, also over the end of a second and when the clock is set back", () => {
  let nowMs = 0;
  const time = createLogTime(() => nowMs);
  for (const atMs of [0, 7, 80, 999, 1_000, newYearMs + 999, newYearMs + 1_000, newYearMs]) {
    nowMs = atMs;
    expect(`{"level":30${time()}}`).toBe(`{"level":30,"time":"${new Date(atMs).toISOString()}"}`);
  }
});
