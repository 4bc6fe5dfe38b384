import { describe, expect, test } from "vitest";
import { NoReplyError } from "../../../../runtime/nats/connection/requests.ts";
import {
  afterFailure,
  pauseAfterFailures,
  ReplayFault,
  failingMsMax,
} from "../../../../runtime/webhooks/replay/run-chunk.ts";
import { noTally, type ReplayJob } from "../../../../runtime/webhooks/replay/replay-job.ts";

const nowMs = Date.UTC(2026, 0, 31);
const since = (ms: number): string => new Date(nowMs - ms).toISOString();
const job: ReplayJob = {
  source: { kind: "ids", eventIds: ["e-1"] },
  filter: { partners: [], types: [], onlyFailed: false },
  ratePerSecond: 1,
  force: false,
  tenants: ["acme"],
  id: "r-1",
  createdAt: since(3_600_000),
  status: "queued",
  cursor: 0,
  tally: noTally,
};

describe("a replay with a failed chunk", () => {
  test.each([
    [
      "goes on when the store refuses now",
      new ReplayFault("full", false),
      undefined,
      { status: "running", detail: "full", failingSince: since(0) },
    ],
    [
      "goes on while its patience lasts",
      new ReplayFault("full", false),
      since(failingMsMax - 1),
      { status: "running", detail: "full" },
    ],
    [
      "has failed when its patience ends",
      new ReplayFault("full", false),
      since(failingMsMax),
      { status: "failed", detail: "full" },
    ],
    [
      "has failed at once when trying again cannot help",
      new ReplayFault("too large", true),
      undefined,
      { status: "failed", detail: "too large" },
    ],
    [
      "has failed after an error of ours as well, without its text",
      new Error("at 10.0.0.7"),
      since(failingMsMax),
      {
        status: "failed",
        detail: "The replay stopped because of an internal error; see the runtime log for the replay id.",
      },
    ],
  ] as const)("%s", (_, error, failingSince, expected) => {
    const before = failingSince === undefined ? job : { ...job, failingSince };
    expect(afterFailure(before, error, nowMs)).toMatchObject({ ...expected, cursor: 0 });
  });

  test("never fails because NATS does not answer", () => {
    const before = { ...job, failingSince: since(10 * failingMsMax) };
    expect(afterFailure(before, new NoReplyError("$JS.API.INFO", "timeout"), nowMs)).toBe(before);
  });

  test("pauses for a growing time, half a minute at most", () => {
    expect([1, 2, 6, 7, 500].map(pauseAfterFailures)).toEqual([500, 1_000, 16_000, 30_000, 30_000]);
  });
});
