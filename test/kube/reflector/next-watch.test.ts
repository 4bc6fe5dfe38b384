import { expect, test } from "vitest";
import { type NextWatch, type WatchEnd, nextWatch } from "../../../kube/reflector/next-watch.ts";
import { KubeError, type KubeErrorKind } from "../../../kube/client/kube-error.ts";

const backoff = { baseMs: 100, maxMs: 1_000, jitter: 0 };
const failed = (during: "list" | "watch", kind: KubeErrorKind, retryAfterMs?: number): WatchEnd => ({
  kind: "failed",
  during,
  error: new KubeError(kind, "x", { retryAfterMs }),
});

const rows: ReadonlyArray<readonly [string, WatchEnd, number, NextWatch]> = [
  ["a list is followed by a watch at once", { kind: "listed" }, 2, { kind: "watch", waitMs: 0, failures: 2 }],
  ["a due relist comes at once", { kind: "relist" }, 0, { kind: "list", waitMs: 0, failures: 0 }],
  [
    "a watch the server closed goes on at once",
    { kind: "closed", early: false },
    3,
    { kind: "watch", waitMs: 0, failures: 0 },
  ],
  [
    "a watch the server closed too early waits",
    { kind: "closed", early: true },
    0,
    { kind: "watch", waitMs: 100, failures: 1 },
  ],
  ["the first 410 lists at once", failed("watch", "gone"), 0, { kind: "list", waitMs: 0, failures: 1 }],
  ["one 410 after the other lists ever later", failed("watch", "gone"), 2, { kind: "list", waitMs: 400, failures: 3 }],
  ["a broken watch goes on after a wait", failed("watch", "transient"), 0, { kind: "watch", waitMs: 100, failures: 1 }],
  ["a busy server says when", failed("watch", "transient", 9_000), 0, { kind: "watch", waitMs: 9_000, failures: 1 }],
  [
    "a watch that broke six times in a row lists",
    failed("watch", "transient"),
    5,
    { kind: "list", waitMs: 1_000, failures: 6 },
  ],
  ["a watch without the right lists", failed("watch", "forbidden"), 0, { kind: "list", waitMs: 100, failures: 1 }],
  [
    "a failed list is tried again after a wait",
    failed("list", "transient"),
    1,
    { kind: "list", waitMs: 200, failures: 2 },
  ],
  [
    "a list for a busy server waits as asked",
    failed("list", "transient", 9_000),
    1,
    { kind: "list", waitMs: 9_000, failures: 2 },
  ],
  [
    "a list for a busy server whose time is over before the wait is, waits",
    failed("list", "transient", 100),
    1,
    { kind: "list", waitMs: 200, failures: 2 },
  ],
  ["a rejected list waits as any other", failed("list", "forbidden"), 1, { kind: "list", waitMs: 200, failures: 2 }],
  [
    "any number of failures is bounded",
    failed("list", "transient"),
    5_000,
    { kind: "list", waitMs: 1_000, failures: 5_001 },
  ],
  [
    "an error of ours lists",
    { kind: "failed", during: "watch", error: new TypeError("x") },
    0,
    { kind: "list", waitMs: 100, failures: 1 },
  ],
];

test.each(rows)("%s", (_name, end, failures, turn) => {
  expect(nextWatch(end, failures, backoff, () => 0)).toEqual(turn);
});

test.each(["forbidden", "notFound"] as const)("a list that is %s never waits longer than five seconds", (kind) => {
  const long = { ...backoff, maxMs: 30_000 };
  expect(nextWatch(failed("list", kind), 50, long, () => 0).waitMs).toBe(5_000);
  expect(nextWatch(failed("list", kind, 9_000), 50, long, () => 0).waitMs).toBe(9_000);
  expect(nextWatch(failed("list", "transient"), 50, long, () => 0).waitMs).toBe(30_000);
});

test("a failure leaves a share of its wait to chance", () => {
  const halved = { ...backoff, jitter: 0.5 };
  expect(nextWatch(failed("list", "transient"), 9, halved, () => 1).waitMs).toBe(500);
});
