import { pino } from "pino";
import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { Controller, type Reconcile, TerminalError, again, done } from "../../../kube/queue/controller.ts";
import { KubeError } from "../../../kube/client/kube-error.ts";
import { createKubeMetrics } from "../../../kube/metrics.ts";
import { WorkQueue } from "../../../kube/queue/work-queue.ts";
import { ManualClock, settle } from "../../support/manual-clock.ts";

function start(reconcile: Reconcile, workers = 1) {
  const lines: Array<Record<string, unknown>> = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const registry = new Registry();
  const metrics = createKubeMetrics(registry);
  const clock = new ManualClock();
  const queue = new WorkQueue({ name: "partner", metrics, clock, random: () => 0 });
  const controller = new Controller({ name: "partner", queue, reconcile, workers, log, metrics, clock });
  controller.start();
  return { controller, queue, clock, lines, registry };
}

async function count(registry: Registry, name: string, label: string): Promise<number> {
  const text = await registry.getSingleMetricAsString(name);
  return Number(
    text
      .split("\n")
      .find((line) => line.includes(label))
      ?.split(" ")
      .at(-1) ?? 0,
  );
}

describe("a reconcile", () => {
  test("that is done is not called again", async () => {
    const { queue, clock, lines, registry } = start(async () => done);
    queue.add("a/one");
    await clock.advanceInSteps(3_600_000, 600_000);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      controller: "partner",
      namespace: "a",
      name: "one",
      result: "success",
      priority: "edit",
      durationMs: 0,
    });
    expect(await count(registry, "controller_runtime_reconcile_total", 'result="success"')).toBe(1);
  });

  test("that requests another run is called after that time, and sooner when its key is added", async () => {
    const { queue, clock, lines } = start(async () => again(1_000, "resync"));
    queue.add("a/one");
    await settle();
    await clock.advanceInSteps(999, 333);
    expect(lines).toHaveLength(1);
    await clock.advanceInSteps(1, 1);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatchObject({ result: "requeue_after", afterMs: 1_000, priority: "resync" });
    queue.add("a/one");
    await settle();
    expect(lines).toHaveLength(3);
  });

  test("that throws is retried with growing waits, and starts anew after a success", async () => {
    let failures = 3;
    const { queue, clock, lines, registry } = start(async () => {
      failures -= 1;
      if (failures >= 0) throw new Error("not yet");
      return done;
    });
    queue.add("a/one");
    await clock.advanceInSteps(100, 1);
    expect(lines.map(({ result, afterMs }) => [result, afterMs])).toEqual([
      ["error", 5],
      ["error", 10],
      ["error", 20],
      ["success", undefined],
    ]);
    expect(lines.map(({ retry }) => retry)).toEqual([0, 1, 2, 3]);
    expect(queue.failures("a/one")).toBe(0);
    expect(await count(registry, "controller_runtime_reconcile_errors_total", "partner")).toBe(3);
    expect(await count(registry, "workqueue_retries_total", "partner")).toBe(3);
  });

  test("that fails terminally is not retried until its key is added", async () => {
    const { queue, clock, lines, registry } = start(() => Promise.reject(new TerminalError("the URL has no host")));
    queue.add("a/one");
    await clock.advanceInSteps(3_600_000, 600_000);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: 50, result: "terminal", error: "TerminalError: the URL has no host" });
    expect(await count(registry, "controller_runtime_terminal_reconcile_errors_total", "partner")).toBe(1);
    expect(await count(registry, "controller_runtime_reconcile_total", 'result="terminal"')).toBe(1);
    queue.add("a/one");
    await settle();
    expect(lines).toHaveLength(2);
  });

  test("that throws before its first wait is retried like any other", async () => {
    const { queue, lines } = start(() => {
      throw new TypeError("a bug");
    });
    queue.add("a/one");
    await settle();
    expect(lines[0]).toMatchObject({ level: 50, result: "error", error: "TypeError: a bug" });
    expect(lines[0]?.["stack"]).toContain("controller.test.ts");
  });

  test("that met a busy server waits for as long as the server asked", async () => {
    const { queue, lines } = start(() =>
      Promise.reject(new KubeError("transient", "busy", { status: 429, retryAfterMs: 9_000 })),
    );
    queue.add("a/one");
    await settle();
    expect(lines[0]).toMatchObject({ level: 30, result: "error", afterMs: 9_000 });
  });

  test("that met a conflict is retried without an alarm", async () => {
    const { queue, lines } = start(() => Promise.reject(new KubeError("conflict", "changed")));
    queue.add("a/one");
    await settle();
    expect(lines[0]).toMatchObject({ level: 30, result: "error", afterMs: 5 });
  });

  test("never puts a secret into its log line", async () => {
    const { queue, lines } = start(() =>
      Promise.reject(new Error("refused: Authorization: Bearer abc.def password=hunter2")),
    );
    queue.add("a/one");
    await settle();
    expect(JSON.stringify(lines)).not.toMatch(/abc\.def|hunter2/u);
  });
});

describe("workers", () => {
  test("hold different keys at once and never one key twice", async () => {
    const held = new Map<string, () => void>();
    const { queue, registry } = start(async (key) => {
      expect(held.has(key)).toBe(false);
      await new Promise<void>((resolve) => held.set(key, resolve));
      held.delete(key);
      return done;
    }, 3);
    for (const key of ["a", "b", "a", "c", "d", "a"]) queue.add(key);
    await settle();
    queue.add("a");
    await settle();
    expect([...held.keys()]).toEqual(["a", "b", "c"]);
    expect(await count(registry, "controller_runtime_active_workers", "partner")).toBe(3);
    expect(await count(registry, "controller_runtime_max_concurrent_reconciles", "partner")).toBe(3);
    held.get("b")?.();
    await settle();
    expect([...held.keys()]).toEqual(["a", "c", "d"]);
    held.get("a")?.();
    await settle();
    expect([...held.keys()]).toEqual(["c", "d", "a"]);
  });
});

describe("stopping", () => {
  test("works off what is queued and then ends", async () => {
    const { controller, queue, lines } = start(async () => done);
    for (const key of ["a", "b", "c"]) queue.add(key);
    expect(await controller.stop(1_000)).toEqual({ queued: 0, running: 0 });
    expect(lines).toHaveLength(3);
  });

  test("aborts what still runs when its time is up, and waits for it to end", async () => {
    const seen: string[] = [];
    const { controller, queue, clock } = start(async (key, signal) => {
      await new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve());
      });
      seen.push(key);
      throw new KubeError("aborted", "ended");
    });
    queue.add("a");
    queue.add("b");
    await settle();
    const stopped = controller.stop(1_000);
    clock.advance(1_000);
    expect(await stopped).toEqual({ queued: 1, running: 1 });
    expect(seen).toEqual(["a"]);
  });
});
