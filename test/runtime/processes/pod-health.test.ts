import { describe, expect, test } from "vitest";
import { healthOfPod, silentMs, startGraceMs, type ProcessView } from "../../../runtime/processes/pod-health.ts";

const nowMs = 1_000_000;
const well = [
  { name: "process", ok: true },
  { name: "config", ok: true },
  { name: "nats", ok: true },
];

function view(index: number, changes: Partial<ProcessView> = {}): ProcessView {
  return {
    index,
    isServing: true,
    hasServed: true,
    downSinceMs: undefined,
    heardAtMs: nowMs,
    parts: well,
    ...changes,
  };
}

const down = { isServing: false, downSinceMs: nowMs - 1000 };
const noNats = [{ name: "nats", ok: false, detail: "not connected" }];

describe("a pod of several processes is ready", () => {
  test.each<[string, readonly ProcessView[], boolean]>([
    ["when all serve and are healthy", [view(1), view(2)], true],
    ["while one starts for the first time and another serves", [view(1), view(2, { ...down, hasServed: false })], true],
    ["not when the one that starts for the first time needs too long", [view(1), late({ hasServed: false })], false],
    ["while one starts again and another serves", [view(1), view(2, down)], true],
    ["not when the one that starts again needs too long", [view(1), late()], false],
    ["not while none serves", [view(1, down), view(2, down)], false],
    ["not while one that serves is not healthy", [view(1), view(2, { parts: noNats })], false],
    ["not while one that serves is silent", [view(1), view(2, { heardAtMs: nowMs - silentMs - 1 })], false],
    ["not before its first process", [], false],
  ])("%s", (_row, processes, isReady) => {
    expect(healthOfPod(processes, false, nowMs).isReady).toBe(isReady);
  });

  test("not while it drains", () => {
    const { isReady, parts } = healthOfPod([view(1), view(2)], true, nowMs);
    expect(isReady).toBe(false);
    expect(parts[0]).toEqual({ name: "process", ok: false, detail: "draining" });
  });

  function late(changes: Partial<ProcessView> = {}): ProcessView {
    return view(2, { ...down, downSinceMs: nowMs - startGraceMs - 1, ...changes });
  }
});

describe("the parts of a pod", () => {
  test("are those of its processes, once each", () => {
    expect(healthOfPod([view(1), view(2)], false, nowMs).parts.map(({ name }) => name)).toEqual([
      "process",
      "processes",
      "config",
      "nats",
    ]);
  });

  test("name the process at fault", () => {
    const silent = view(3, { heardAtMs: nowMs - silentMs - 1 });
    const { parts } = healthOfPod([view(1, { parts: noNats }), view(2, down), silent], false, nowMs);
    expect(parts).toContainEqual({ name: "nats", ok: false, detail: "process 1: not connected" });
    const detail = "process 2 starts again, process 3 does not respond";
    expect(parts).toContainEqual({ name: "processes", ok: false, detail });
  });
});
