import { describe, expect, test } from "vitest";
import { FairPlaces } from "../../limits/fair-places.ts";

/** Takes as many places as the key gets. */
function takeAll(places: FairPlaces, key: string): number {
  let count = 0;
  while (places.tryTake(key)) count += 1;
  return count;
}

describe("places", () => {
  test("are left free by one busy key, half of them", () => {
    const places = new FairPlaces(100);
    expect(places.available("a")).toBe(50);
    expect(takeAll(places, "a")).toBe(50);
    expect(places.available("a")).toBe(0);
  });

  test("of one key have a limit of their own", () => {
    const places = new FairPlaces(100, 20);
    expect(places.available("a")).toBe(20);
    expect(takeAll(places, "a")).toBe(20);
  });

  test("are left free by busy keys that come one after another, with a reserve", () => {
    const places = new FairPlaces(256, undefined, 3);
    const keys = Array.from({ length: 7 }, (_, place) => `busy-${place}`);
    expect(keys.map((key) => takeAll(places, key))).toEqual([64, 48, 36, 27, 21, 15, 12]);
  });

  test("become equal for keys that always want more, and as many stay free for the next key", () => {
    const places = new FairPlaces(4_096);
    const keys = Array.from({ length: 8 }, (_, place) => `busy-${place}`);
    const held = new Map(keys.map((key) => [key, takeAll(places, key)]));
    for (let round = 0; round < 20_000; round += 1) {
      const key = keys[round % keys.length] as string;
      places.release(key);
      held.set(key, (held.get(key) ?? 0) - 1 + takeAll(places, key));
    }
    const share = Math.floor(4_096 / 9);
    for (const count of held.values()) expect(Math.abs(count - share)).toBeLessThanOrEqual(2);
    expect(takeAll(places, "next")).toBeGreaterThanOrEqual(Math.floor(share / 2));
  });

  test("are at least one for each key that asks, but never more than all by trying", () => {
    const places = new FairPlaces(10);
    const keys = Array.from({ length: 20 }, (_, place) => `key-${place}`);
    expect(keys.map((key) => places.tryTake(key)).filter(Boolean)).toHaveLength(10);
    expect(places.available("another")).toBe(1);
    expect(places.available("key-0")).toBe(0);
    expect(places.tryTake("another")).toBe(false);
  });

  test("do not exist while their number is 0", () => {
    const places = new FairPlaces(0);
    expect([places.available("a"), places.tryTake("a")]).toEqual([0, false]);
    places.resize(2);
    expect(places.tryTake("a")).toBe(true);
  });

  test("that become free are offered to the key that frees one, and to the one that wants more for the longest time", () => {
    const places = new FairPlaces(3);
    const calls: string[] = [];
    for (const key of ["a", "b", "c"]) places.take(key);
    for (const key of ["a", "b", "a", "c"]) places.want(key, () => calls.push(key));
    places.release("c");
    expect(calls).toEqual(["c", "a"]);
    places.release("a");
    expect(calls).toEqual(["c", "a", "b"]);
    places.release("b");
    expect(calls).toEqual(["c", "a", "b"]);
  });
});
