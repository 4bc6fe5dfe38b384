import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DueHeap } from "../../../kube/queue/due-heap.ts";
import { type Priority, QueueState } from "../../../kube/queue/queue-state.ts";

const bound = 1_000;

function drain(state: QueueState): readonly string[] {
  const keys: string[] = [];
  for (let taken = state.next(0); taken !== undefined; taken = state.next(0)) {
    keys.push(taken.key);
    state.finish(taken.key, 0);
  }
  return keys;
}

describe("the queue's rules", () => {
  test("hand out edits before resyncs, each in the order they were asked for", () => {
    const state = new QueueState(bound);
    state.add("r1", "resync", 0);
    state.add("e1", "edit", 0);
    state.add("r2", "resync", 0);
    state.add("e2", "edit", 0);
    expect(drain(state)).toEqual(["e1", "e2", "r1", "r2"]);
  });

  test("make an edit of a key that waits for a resync, and count its wait from the first ask", () => {
    const state = new QueueState(bound);
    for (let index = 0; index < 100; index += 1) state.add(`r${index}`, "resync", 0);
    expect(state.add("r99", "edit", 40)).toBe("known");
    expect(state.next(50)).toEqual({ key: "r99", priority: "edit", queuedMs: 50 });
  });

  test("never make a resync of an edit", () => {
    const state = new QueueState(bound);
    state.add("a", "edit", 0);
    state.add("a", "resync", 0);
    expect(state.next(0)?.priority).toBe("edit");
    state.add("a", "edit", 0);
    state.add("a", "resync", 0);
    state.finish("a", 0);
    expect(state.next(0)?.priority).toBe("edit");
  });

  test("give a resync its turn after 32 edits in a row", () => {
    const state = new QueueState(bound);
    state.add("resync", "resync", 0);
    for (let index = 0; index < 100; index += 1) state.add(`e${index}`, "edit", 0);
    expect(drain(state).indexOf("resync")).toBe(32);
  });

  test("make one piece of work of any number of asks, also of those that come while a worker holds the key", () => {
    const state = new QueueState(bound);
    expect([state.add("a", "edit", 0), state.add("a", "edit", 1)]).toEqual(["added", "known"]);
    state.next(2);
    expect([state.add("a", "edit", 3), state.add("a", "edit", 4)]).toEqual(["added", "known"]);
    expect(state.next(5)).toBeUndefined();
    expect(state.finish("a", 6)).toBe(4);
    expect(state.next(7)).toEqual({ key: "a", priority: "edit", queuedMs: 4 });
    state.finish("a", 8);
    expect(state.next(9)).toBeUndefined();
  });

  test("let the earlier of two times count", () => {
    const state = new QueueState(bound);
    state.schedule("a", "edit", 100);
    state.schedule("a", "edit", 50);
    state.schedule("a", "edit", 70);
    expect(state.nextDueMs()).toBe(50);
    expect(state.release(49)).toBe(0);
    expect(state.release(50)).toBe(1);
    expect(state.nextDueMs()).toBeUndefined();
    expect(drain(state)).toEqual(["a"]);
  });

  test("refuse a new key when full, but never one that they know", () => {
    const state = new QueueState(2);
    state.add("a", "edit", 0);
    state.schedule("b", "edit", 10);
    expect(state.add("c", "edit", 0)).toBe("full");
    expect(state.schedule("c", "edit", 10)).toBe(false);
    expect(state.add("a", "edit", 0)).toBe("known");
    expect(state.add("b", "edit", 0)).toBe("added");
    expect(state.schedule("b", "edit", 5)).toBe(true);
  });

  test("keep what they hold small however often a key is scheduled earlier", () => {
    const state = new QueueState(bound);
    for (let dueMs = 100_000; dueMs > 0; dueMs -= 1) state.schedule("a", "edit", dueMs);
    expect(state.release(1)).toBe(1);
    expect(state.nextDueMs()).toBeUndefined();
  });
});

test("the heap gives back what it was given, the earliest first", () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (times) => {
      const heap = new DueHeap();
      for (const dueMs of times) heap.push({ key: "k", dueMs });
      const out = times.map(() => heap.pop()?.dueMs);
      expect(out).toEqual([...times].sort((a, b) => a - b));
      expect(heap.size).toBe(0);
    }),
  );
});

/** What must be true of the queue, kept as plainly as possible. */
interface Model {
  nowMs: number;
  /** Keys somebody asked for since a worker last took them. */
  readonly asked: Set<string>;
  readonly running: Set<string>;
  readonly scheduled: Map<string, number>;
}

type Command = fc.Command<Model, QueueState>;
const keys = fc.constantFrom("a", "b", "c", "d", "e");
const priorities = fc.constantFrom<Priority>("edit", "resync");

const add = (key: string, priority: Priority): Command => ({
  check: () => true,
  run: (model, state) => {
    const known = model.asked.has(key);
    expect(state.add(key, priority, model.nowMs)).toBe(known ? "known" : "added");
    model.asked.add(key);
  },
  toString: () => `add(${key}, ${priority})`,
});

const schedule = (key: string, delayMs: number): Command => ({
  check: () => true,
  run: (model, state) => {
    const dueMs = model.nowMs + delayMs;
    expect(state.schedule(key, "edit", dueMs)).toBe(true);
    model.scheduled.set(key, Math.min(dueMs, model.scheduled.get(key) ?? dueMs));
  },
  toString: () => `schedule(${key}, ${delayMs})`,
});

const advance = (byMs: number): Command => ({
  check: () => true,
  run: (model, state) => {
    model.nowMs += byMs;
    const due = [...model.scheduled].filter(([, dueMs]) => dueMs <= model.nowMs).map(([key]) => key);
    expect(state.release(model.nowMs)).toBe(due.filter((key) => !model.asked.has(key)).length);
    for (const key of due) {
      model.scheduled.delete(key);
      model.asked.add(key);
    }
    const rest = [...model.scheduled.values()];
    expect(state.nextDueMs()).toBe(rest.length === 0 ? undefined : Math.min(...rest));
  },
  toString: () => `advance(${byMs})`,
});

const next: Command = {
  check: () => true,
  run: (model, state) => {
    const taken = state.next(model.nowMs);
    const ready = [...model.asked].filter((key) => !model.running.has(key));
    expect(taken === undefined ? [] : [taken.key]).toEqual(ready.filter((key) => key === taken?.key).slice(0, 1));
    expect(taken === undefined).toBe(ready.length === 0);
    if (taken === undefined) return;
    model.asked.delete(taken.key);
    model.running.add(taken.key);
  },
  toString: () => "next()",
};

const finish = (key: string): Command => ({
  check: () => true,
  run: (model, state) => {
    expect(state.finish(key, model.nowMs) !== undefined).toBe(model.running.delete(key));
    const ready = [...model.asked].filter((asked) => !model.running.has(asked));
    expect(state.depth("edit") + state.depth("resync")).toBe(ready.length);
    expect(state.runningCount).toBe(model.running.size);
  },
  toString: () => `finish(${key})`,
});

test("no ask is lost, none is done twice, and no key is held by two workers, whatever the order of things", () => {
  const commands = fc.commands(
    [
      fc.tuple(keys, priorities).map(([key, priority]) => add(key, priority)),
      fc.tuple(keys, fc.nat(50)).map(([key, delayMs]) => schedule(key, delayMs)),
      fc.nat(40).map(advance),
      fc.constant(next),
      keys.map(finish),
    ],
    { maxCommands: 200 },
  );
  fc.assert(
    fc.property(commands, (cmds) => {
      const model: Model = { nowMs: 0, asked: new Set(), running: new Set(), scheduled: new Map() };
      const real = new QueueState(bound);
      fc.modelRun(() => ({ model, real }), cmds);
      for (const key of model.running) real.finish(key, model.nowMs);
      real.release(Number.POSITIVE_INFINITY);
      expect(new Set(drain(real))).toEqual(new Set([...model.asked, ...model.scheduled.keys()]));
    }),
  );
});
