import { describe, expect, test } from "vitest";
import { ExpiringMap } from "../../limits/bounded-map.ts";

describe("an expiring map", () => {
  test("returns a value until its expiry and not at it", () => {
    const map = new ExpiringMap<string, number>(2);
    map.set("a", 1, 1_000);
    expect([map.get("a", 999), map.use("a", 999), map.get("a", 1_000), map.use("a", 1_000)]).toEqual([
      1,
      1,
      undefined,
      undefined,
    ]);
  });

  test("replaces a value with its expiry", () => {
    const map = new ExpiringMap<string, number>(2);
    map.set("a", 1, 1_000);
    map.set("a", 2, 2_000);
    expect([map.get("a", 1_500), map.get("a", 2_000)]).toEqual([2, undefined]);
  });

  test("removes the least recently used value when there are too many", () => {
    const map = new ExpiringMap<string, number>(2);
    map.set("a", 1, 1_000);
    map.set("b", 2, 1_000);
    map.get("a", 0);
    map.use("a", 0);
    map.get("b", 0);
    map.set("c", 3, 1_000);
    expect(["a", "b", "c"].map((key) => map.get(key, 0))).toEqual([1, undefined, 3]);
  });

  test("does not return a deleted value", () => {
    const map = new ExpiringMap<string, number>(2);
    map.set("a", 1, 1_000);
    map.delete("a");
    expect(map.get("a", 0)).toBe(undefined);
  });
});
