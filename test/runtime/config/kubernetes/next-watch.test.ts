import { describe, expect, test } from "vitest";
import { KubernetesFault, type KubernetesFaultKind } from "../../../../runtime/config/kubernetes/api-fault.ts";
import { nextWatch, type BackoffTimes, type WatchEnd } from "../../../../runtime/config/kubernetes/next-watch.ts";

const backoff: BackoffTimes = { baseMs: 200, maxMs: 60_000, jitter: 0.5 };
const fault = (kind: KubernetesFaultKind, retryAfterMs = 0) => new KubernetesFault(kind, kind, { retryAfterMs });
const failed = (during: "list" | "watch", kind: KubernetesFaultKind, retryAfterMs?: number): WatchEnd => ({
  kind: "failed",
  during,
  fault: fault(kind, retryAfterMs),
});

describe("the turn after", () => {
  test.each<[string, WatchEnd, number, { kind: "list" | "watch"; waitMs: number; failures: number }]>([
    ["a list is a watch at once", { kind: "listed" }, 0, { kind: "watch", waitMs: 0, failures: 0 }],
    ["a list keeps the count of failures", { kind: "listed" }, 3, { kind: "watch", waitMs: 0, failures: 3 }],
    ["a watch that lived its time is a list", { kind: "expired" }, 4, { kind: "list", waitMs: 0, failures: 0 }],
    [
      "a watch closed in between goes on at once",
      { kind: "closed", early: false },
      4,
      { kind: "watch", waitMs: 0, failures: 0 },
    ],
    [
      "a watch closed at once goes on after a wait",
      { kind: "closed", early: true },
      1,
      { kind: "watch", waitMs: 400, failures: 2 },
    ],
    [
      "a broken watch goes on from where it was",
      failed("watch", "unreachable"),
      0,
      { kind: "watch", waitMs: 200, failures: 1 },
    ],
    ["a busy server's watch goes on too", failed("watch", "busy"), 0, { kind: "watch", waitMs: 200, failures: 1 }],
    ["five broken watches is a list", failed("watch", "unreachable"), 5, { kind: "list", waitMs: 6400, failures: 6 }],
    ["a state that is too old is a list at once", failed("watch", "gone"), 0, { kind: "list", waitMs: 0, failures: 1 }],
    ["the second state too old in a row waits", failed("watch", "gone"), 1, { kind: "list", waitMs: 400, failures: 2 }],
    ["a refused watch is a list", failed("watch", "refused"), 0, { kind: "list", waitMs: 200, failures: 1 }],
    ["a failed list is a list", failed("list", "unreachable"), 0, { kind: "list", waitMs: 200, failures: 1 }],
    [
      "Retry-After is never earlier than asked",
      failed("list", "busy", 7000),
      0,
      { kind: "list", waitMs: 7000, failures: 1 },
    ],
    [
      "Retry-After that is shorter than the wait changes nothing",
      failed("list", "busy", 1000),
      5,
      { kind: "list", waitMs: 6400, failures: 6 },
    ],
    [
      "any number of failures is bounded",
      failed("list", "unreachable"),
      5000,
      { kind: "list", waitMs: 60_000, failures: 5001 },
    ],
  ])("%s", (_name, end, failures, expected) => {
    expect(nextWatch(end, failures, backoff, () => 0)).toEqual(expected);
  });

  test("a failure leaves half of its wait to chance", () => {
    expect(nextWatch(failed("list", "busy"), 9, backoff, () => 1).waitMs).toBe(30_000);
  });
});
