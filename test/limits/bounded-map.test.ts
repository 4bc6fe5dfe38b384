import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BoundedMap } from "../../limits/bounded-map.ts";

describe("a bounded map", () => {
  test("counts entries without a function of their weight, and removes the oldest first", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    map.set("c", 3);
    expect([map.get("a"), map.get("b"), map.get("c"), map.weight]).toEqual([undefined, 2, 3, 2]);
  });

  test("keeps a value that is used or set again, and not one that is only read", () => {
    const map = new BoundedMap<string, number>(3);
    for (const key of ["a", "b", "c"]) map.set(key, 0);
    map.use("a");
    map.get("b");
    map.set("c", 1);
    map.set("d", 0);
    map.set("e", 0);
    expect(["a", "b", "c", "d", "e"].map((key) => map.get(key))).toEqual([undefined, undefined, 1, 0, 0]);
  });

  test("does not store a value above the bound, and removes the value before it", () => {
    const map = new BoundedMap<string, string>(3, (text) => text.length);
    map.set("a", "xx");
    map.set("a", "xxxx");
    expect([map.get("a"), map.weight]).toEqual([undefined, 0]);
  });

  test("removes the least recently set or used value, in any order of calls", () => {
    const step = fc.record({ kind: fc.constantFrom("set", "use", "delete"), key: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const map = new BoundedMap<number, number>(4);
        let expected: readonly number[] = [];
        for (const { kind, key } of steps) {
          const others = expected.filter((other) => other !== key);
          if (kind === "set") map.set(key, key);
          else if (kind === "use") map.use(key);
          else map.delete(key);
          if (kind === "set" || (kind === "use" && expected.includes(key))) expected = [...others, key].slice(-4);
          else if (kind === "delete") expected = others;
          const held = Array.from({ length: 10 }, (_, at) => at).filter((at) => map.get(at) !== undefined);
          expect(held).toEqual([...expected].sort((a, b) => a - b));
        }
      }),
    );
  });

  test.each(["known", "new"])("takes no longer for %s keys the more values it has", (kind) => {
    const areNew = kind === "new";
    cpuOfSets(500, areNew);
    const [few, many] = [cpuOfSets(500, areNew), cpuOfSets(60_000, areNew)];
    // 120 times as many values miss the caches of the CPU more often; a search would take 120 times as long.
    expect(many).toBeLessThan(40 * few);
  });

  test.each(["set", "use", "delete"] as const)(
    "holds no value that it has replaced or removed, after many of %s",
    async (kind) => {
      const map = new BoundedMap<number, object>(100);
      const replaced: WeakRef<object>[] = [];
      // Enough for several tables of a Map, none of which is full.
      for (let place = 0; place < 300; place += 1) {
        const value = { place };
        map.set(place % 10, value);
        if (kind === "use") map.use((place * 7) % 10);
        if (kind === "delete") map.delete(place % 10);
        if (place < 290) replaced.push(new WeakRef(value));
      }
      // A reference lives until the end of its turn.
      await turn();
      collectGarbage();
      expect(replaced.filter((one) => one.deref() !== undefined).length).toBe(0);
    },
  );

  test("never weighs more than its bound, and has the weight of its values", () => {
    const step = fc.record({ kind: fc.constantFrom("set", "use", "delete"), key: fc.nat(9), weight: fc.nat(12) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const map = new BoundedMap<number, number>(20, (weight) => weight);
        for (const { kind, key, weight } of steps) {
          if (kind === "set") map.set(key, weight);
          else if (kind === "use") map.use(key);
          else map.delete(key);
          const held = Array.from({ length: 10 }, (_, at) => map.get(at) ?? 0).reduce((sum, each) => sum + each, 0);
          expect(map.weight).toBe(held);
          expect(map.weight).toBeLessThanOrEqual(20);
        }
      }),
    );
  });
});

test("a map removes values that were not used for a time, and keeps the others", () => {
  let [nowMs, due] = [0, [] as { readonly atMs: number; readonly call: () => void }[]];
  const clock = {
    nowMs: () => nowMs,
    after: (delayMs: number, call: () => void) => {
      due.push({ atMs: nowMs + delayMs, call });
      return () => undefined;
    },
  };
  const advance = (ms: number): void => {
    nowMs += ms;
    const own = due.filter(({ atMs }) => atMs <= nowMs);
    due = due.filter(({ atMs }) => atMs > nowMs);
    for (const { call } of own) call();
  };
  const map = new BoundedMap<string, number>(10, () => 1, { unusedMs: 100, clock });
  map.set("set once", 1);
  map.set("used", 1);
  advance(60);
  map.use("used");
  map.set("later", 1);
  expect(due).toHaveLength(1);
  advance(40);
  expect([map.get("set once"), map.get("used"), map.get("later"), map.weight]).toEqual([undefined, 1, 1, 2]);
  advance(60);
  expect([map.weight, due]).toEqual([0, []]);
  map.set("again", 1);
  expect(due).toHaveLength(1);
  advance(100);
  expect(map.weight).toBe(0);
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const setsMeasured = 50_000;

/** CPU microseconds of sets in a full map. */
function cpuOfSets(values: number, areNew: boolean): number {
  const map = new BoundedMap<string, number>(values);
  for (let place = 0; place < values; place += 1) map.set(`a${place}`, place);
  const before = process.cpuUsage().user;
  for (let place = 0; place < setsMeasured; place += 1) {
    map.set(areNew ? `b${place}` : `a${place % values}`, place);
  }
  return process.cpuUsage().user - before;
}
