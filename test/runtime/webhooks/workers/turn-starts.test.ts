import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { ManualClock } from "../../../support/manual-clock.ts";
import { waitFor } from "../../../support/wait.ts";
import { LaneActivity, TurnStarts } from "../../../../runtime/webhooks/workers/turn-starts.ts";

test("starts are spread over turns of the event loop, in order, so that other work runs between them", async () => {
  const starts = new TurnStarts({ startsMax: 4 });
  const order: number[] = [];
  const all = Array.from({ length: 10 }, async (_, place) => {
    await starts.next();
    order.push(place);
  });
  const counts: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    await Promise.resolve();
    await Promise.resolve();
    counts.push(order.length);
    await nextTurn();
  }
  await Promise.all(all);
  expect(counts).toEqual([4, 8, 10]);
  expect(order).toEqual(Array.from({ length: 10 }, (_, place) => place));
});

test("a start after an idle turn does not wait", async () => {
  const starts = new TurnStarts({ startsMax: 1 });
  await starts.next();
  await nextTurn();
  await nextTurn();
  let isStarted = false;
  void starts.next().then(() => (isStarted = true));
  await Promise.resolve();
  await Promise.resolve();
  expect(isStarted).toBe(true);
});

describe("attempts at once", () => {
  const endsMax = 8;

  /** Attempts that wait or run. */
  function attempts(count: number, isLimited = true) {
    const starts = new TurnStarts({ startsMax: 4, endsMax, isLimited });
    const running: number[] = [];
    for (let place = 0; place < count; place += 1) void starts.next().then(() => running.push(place));
    const turns = async (howMany: number): Promise<void> => {
      for (let turn = 0; turn < howMany; turn += 1) await nextTurn();
    };
    /** Some end together. */
    const end = (ends: number): void => running.splice(0, ends).forEach(() => starts.end());
    return { running, turns, end };
  }

  /** How many run each time before a fast endpoint answers all of them during a turn. */
  async function fast({ running, turns, end }: ReturnType<typeof attempts>): Promise<readonly number[]> {
    const most: number[] = [];
    for (let count = 0; count < 60; count += 1) {
      await turns(30);
      most.push(running.length);
      end(running.length);
    }
    return most;
  }

  test("are reduced to few when a fast endpoint answers all of them during a turn", async () => {
    const most = await fast(attempts(2_000));
    expect(most[0]).toBeGreaterThan(10 * endsMax);
    expect(most.toSorted((a, b) => a - b)[30]).toBeLessThanOrEqual(endsMax + 1);
  });

  test("are not reduced in a lane of several endpoints, of which some may be slow", async () => {
    expect((await fast(attempts(8_000, false))).at(-1)).toBeGreaterThan(10 * endsMax);
  });

  test("are not reduced while they end spread over turns", async () => {
    const it = attempts(400);
    for (let count = 0; count < 60; count += 1) {
      await it.turns(2);
      it.end(2);
    }
    expect(it.running.length).toBeGreaterThan(10 * endsMax);
  });

  test("double as long as none ends, because the endpoint has become slow", async () => {
    const it = attempts(2_000);
    await fast(it);
    const more = async (): Promise<boolean> => (await it.turns(30), it.running.length > 8 * endsMax);
    expect(await waitFor(more, { timeoutMs: 5_000, what: "more attempts at once" })).toBe(true);
  });
});

describe("a lane with a backlog", () => {
  const betweenMs = 10;

  /** Lanes of a pod whose event loop works for this share of the time. */
  function pod(share: number) {
    const clock = new ManualClock();
    const loop = () => ({ active: share * clock.nowMs(), idle: (1 - share) * clock.nowMs() });
    const activity = new LaneActivity();
    const lane = (name: string) =>
      new TurnStarts({ lane: name, startsMax: 4, isLimited: false, activity, clock, loop });
    /** A lane in which more wait than ever start. */
    const backlog = (name: string) => {
      const starts = lane(name);
      const counts = { started: 0 };
      for (let place = 0; place < 10_000; place += 1) void starts.next().then(() => (counts.started += 1));
      return counts;
    };
    /** Lets some milliseconds pass, each with two turns. */
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 1) {
        clock.advance(1);
        await nextTurn();
        await nextTurn();
      }
    };
    return { lane, backlog, pass };
  }

  /** Most starts of backlogs between two of another partner, each at once, after they have adapted. */
  async function between({ lane, pass }: ReturnType<typeof pod>, counts: readonly { readonly started: number }[]) {
    const other = lane("other");
    const found: number[] = [];
    for (let round = 0; round < 100; round += 1) {
      const before = counts.map(({ started }) => started);
      await pass(betweenMs);
      found.push(counts.reduce((sum, { started }, index) => sum + started - (before[index] ?? 0), 0));
      await other.next();
      other.end();
    }
    return Math.max(...found.slice(-20));
  }

  test("starts at most one a millisecond between two starts of another partner while the loop is busy", async () => {
    const it = pod(1);
    expect(await between(it, [it.backlog("one")])).toBeLessThanOrEqual(betweenMs + 1);
  });

  test("shares that with other lanes with backlogs", async () => {
    const it = pod(1);
    const counts = ["one", "two", "three"].map((name) => it.backlog(name));
    expect(await between(it, counts)).toBeLessThanOrEqual(betweenMs + counts.length);
    expect(Math.min(...counts.map(({ started }) => started))).toBeGreaterThan(0);
  });

  test("starts up to four times as many as the busiest of the others, however busy the loop is", async () => {
    const it = pod(1);
    const [counts, busiest] = [it.backlog("one"), it.lane("busiest")];
    const everyMs = 2;
    const passAll = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += everyMs) {
        await busiest.next();
        busiest.end();
        await it.pass(everyMs);
      }
    };
    await passAll(700);
    const before = counts.started;
    await passAll(200);
    const times = (counts.started - before) / (200 / everyMs);
    expect(times).toBeGreaterThan(3.5);
    expect(times).toBeLessThan(4.5);
  });

  test("begins with one a millisecond when another partner starts, however much time the loop has", async () => {
    const it = pod(0);
    const counts = it.backlog("one");
    await it.pass(100);
    await it.lane("other").next();
    await it.pass(30);
    const before = counts.started;
    await it.pass(20);
    expect(counts.started - before).toBeLessThanOrEqual(30);
  });

  test("starts as many as before alongside another partner while the loop has time", async () => {
    const it = pod(0.5);
    expect(await between(it, [it.backlog("one")])).toBeGreaterThanOrEqual(4 * betweenMs);
  });

  test("starts as many as before while no other partner starts any, however busy the loop is", async () => {
    const it = pod(1);
    const counts = it.backlog("one");
    await it.pass(1_000);
    expect(counts.started).toBeGreaterThanOrEqual(4_000);
  });

  test("starts as many as before alongside lanes that all have backlogs", async () => {
    const it = pod(1);
    const [one, two] = [it.backlog("one"), it.backlog("two")];
    await it.pass(1_000);
    expect(Math.min(one.started, two.started)).toBeGreaterThanOrEqual(4_000);
  });

  test("starts as many as before a second after the last start of another partner", async () => {
    const it = pod(1);
    const counts = it.backlog("one");
    await between(it, [counts]);
    await it.pass(1_100);
    const before = counts.started;
    await it.pass(100);
    expect(counts.started - before).toBeGreaterThanOrEqual(400);
  });
});
