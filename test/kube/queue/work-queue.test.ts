import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { createKubeMetrics } from "../../../kube/metrics.ts";
import { Outage } from "../../../kube/outage.ts";
import { WorkQueue, type WorkQueueOptions } from "../../../kube/queue/work-queue.ts";
import { ManualClock, settle } from "../../support/manual-clock.ts";

function setup(options: Partial<WorkQueueOptions> = {}) {
  const registry = new Registry();
  const clock = new ManualClock();
  const queue = new WorkQueue({
    name: "partner",
    metrics: createKubeMetrics(registry),
    clock,
    random: () => 0,
    ...options,
  });
  return { queue, clock, registry };
}

async function metric(registry: Registry, name: string): Promise<number> {
  const text = await registry.getSingleMetricAsString(name);
  const labels = /\{[^}]*name="partner",controller="partner"[^}]*\}/u;
  return text
    .split("\n")
    .filter((line) => !line.startsWith("#") && labels.test(line))
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name}_sum{`))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

test("the end of an outage brings what failed at once, as if for the first time, but nothing that the server put off", async () => {
  const clock = new ManualClock();
  const outage = new Outage(clock, () => 0);
  const { queue } = setup({ clock, outage });
  for (let failure = 0; failure < 15; failure += 1) queue.retry("a");
  queue.retry("b", "edit", 60_000);
  for (let failure = 0; failure < 3; failure += 1) outage.failed();
  outage.succeeded();
  clock.advance(0);
  clock.advance(0);
  await settle();
  expect([queue.depth, await queue.take()]).toEqual([1, expect.objectContaining({ key: "a" })]);
  expect([queue.failures("a"), queue.failures("b")]).toEqual([0, 1]);
  queue.done("a");
  await queue.shutDown(0);
  expect(clock.waiting).toBe(0);
});

describe("a worker", () => {
  test("that waits gets a key as soon as it is asked for", async () => {
    const { queue } = setup();
    const taken = queue.take();
    queue.add("a");
    expect(await taken).toMatchObject({ key: "a", priority: "edit" });
  });

  test("gets a key that was asked for later when its time has come, and not sooner", async () => {
    const { queue, clock } = setup();
    let key: string | undefined;
    void queue.take().then((taken) => (key = taken?.key));
    queue.addAfter("a", 1_000);
    clock.advance(999);
    await settle();
    expect(key).toBeUndefined();
    clock.advance(1);
    await settle();
    expect(key).toBe("a");
  });

  test("gets edits first when a relist has asked for everything", async () => {
    const { queue } = setup();
    for (let index = 0; index < 1_000; index += 1) queue.add(`r${index}`, "resync");
    queue.add("edited");
    expect((await queue.take())?.key).toBe("edited");
  });
});

describe("retries", () => {
  test("of one key wait 5 ms, then twice as long each time, up to 5 min", () => {
    const { queue } = setup();
    const waits = Array.from({ length: 18 }, () => queue.retry("a"));
    expect(waits.slice(0, 4)).toEqual([5, 10, 20, 40]);
    expect(waits.slice(-2)).toEqual([300_000, 300_000]);
  });

  test("start at 5 ms again after a success", () => {
    const { queue } = setup();
    queue.retry("a");
    queue.retry("a");
    queue.forget("a");
    expect(queue.failures("a")).toBe(0);
    expect(queue.retry("a")).toBe(5);
  });

  test("are shortened by up to a fifth, so that what failed together comes back apart", () => {
    const { queue } = setup({ random: () => 0.5 });
    expect(queue.retry("a")).toBeCloseTo(4.5);
  });

  test("never come sooner than the server asked", () => {
    const { queue } = setup();
    expect(queue.retry("a", "edit", 7_000)).toBe(7_000);
  });
});

describe("shutting down", () => {
  test("lets workers finish what is queued, takes nothing in and forgets what was scheduled", async () => {
    const { queue, clock } = setup();
    queue.add("a");
    queue.addAfter("later", 10);
    const down = queue.shutDown(5_000);
    expect([queue.add("b"), queue.addAfter("c", 1)]).toEqual([false, false]);
    expect((await queue.take())?.key).toBe("a");
    queue.done("a");
    expect(await queue.take()).toBeUndefined();
    expect(await down).toEqual({ queued: 0, running: 0 });
    expect(clock.waiting).toBe(0);
  });

  test("waits no longer than its bound, and returns the remaining keys", async () => {
    const { queue, clock } = setup();
    for (const key of ["a", "b", "c"]) queue.add(key);
    await queue.take();
    const down = queue.shutDown(5_000);
    clock.advance(5_000);
    expect(await down).toEqual({ queued: 2, running: 1 });
    expect(await queue.take()).toBeUndefined();
  });

  test("sends waiting workers home", async () => {
    const { queue } = setup();
    const workers = [queue.take(), queue.take()];
    await queue.shutDown(1_000);
    expect(await Promise.all(workers)).toEqual([undefined, undefined]);
  });
});

describe("the metrics", () => {
  test("count asks once, retries, and refusals, under the names of client-go", async () => {
    const { queue, registry } = setup({ keysMax: 3 });
    queue.add("a");
    queue.add("a");
    queue.add("b", "resync");
    queue.retry("c");
    queue.add("d");
    expect(await metric(registry, "workqueue_adds_total")).toBe(2);
    expect(await metric(registry, "workqueue_retries_total")).toBe(1);
    expect(await metric(registry, "heliograph_workqueue_dropped_total")).toBe(1);
    expect(await metric(registry, "workqueue_depth")).toBe(2);
  });

  test("show how long keys waited and were held, and what is held now", async () => {
    const { queue, clock, registry } = setup();
    queue.add("a");
    queue.add("b");
    clock.advance(2_000);
    await queue.take();
    clock.advance(1_000);
    await queue.take();
    clock.advance(3_000);
    expect(await metric(registry, "workqueue_queue_duration_seconds")).toBe(2 + 3);
    expect(await metric(registry, "workqueue_unfinished_work_seconds")).toBe(4 + 3);
    expect(await metric(registry, "workqueue_longest_running_processor_seconds")).toBe(4);
    queue.done("a");
    expect(await metric(registry, "workqueue_work_duration_seconds")).toBe(4);
    expect(await metric(registry, "workqueue_unfinished_work_seconds")).toBe(3);
  });
});
