import { describe, expect, test } from "vitest";
import { isSignalDue, isStale } from "../../../../runtime/nats/monitor/certificate-reload.ts";

const minuteMs = 60_000;
const never = Number.NEGATIVE_INFINITY;

describe("a signal to load certificates", () => {
  test.each([
    [
      "is not due while the load is newer than the files",
      { changedMs: 1_000, loadedMs: 5_000, signalledMs: never },
      false,
    ],
    ["is due after a change", { changedMs: 9_000, loadedMs: 5_000, signalledMs: never }, true],
    [
      "is due after a change within the clock's precision",
      { changedMs: 4_990, loadedMs: 5_000, signalledMs: never },
      true,
    ],
    ["is sent once for a change", { changedMs: 8_000, loadedMs: 5_000, signalledMs: 8_900 }, false],
    ["is due at once after a second change", { changedMs: 9_000, loadedMs: 5_000, signalledMs: 8_000 }, true],
    [
      "is repeated after a minute",
      { changedMs: 8_000 - minuteMs, loadedMs: -minuteMs, signalledMs: 9_000 - minuteMs },
      true,
    ],
  ])("%s", (_what, times, isDue) => {
    expect(isSignalDue({ ...times, nowMs: 9_000 })).toBe(isDue);
  });

  test("is still pending while the server keeps the loaded certificate", () => {
    expect(isStale({ changedMs: 9_000, loadedMs: 5_000 })).toBe(true);
    expect(isStale({ changedMs: 9_000, loadedMs: 9_100 })).toBe(false);
  });
});
