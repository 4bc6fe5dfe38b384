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
