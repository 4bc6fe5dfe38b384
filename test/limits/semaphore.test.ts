import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { shareInFlight } from "../../runtime/webhooks/workers/own-lane-consumers.ts";
import { Semaphore } from "../../limits/fair-places.ts";

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe("a semaphore", () => {
  test("admits as many callers as places, and the others in order when places become free", async () => {
    const slots = new Semaphore(2);
    const entered: number[] = [];
    [1, 2, 3, 4].forEach((who) => void slots.acquire().then(() => entered.push(who)));
    await turn();
    expect(entered).toEqual([1, 2]);
    slots.release();
    await turn();
    expect(entered).toEqual([1, 2, 3]);
    slots.release();
    await turn();
    expect(entered).toEqual([1, 2, 3, 4]);
  });

  test("admits more callers at once after it grows, and fewer after it shrinks", async () => {
    const slots = new Semaphore(1);
    const entered: number[] = [];
    [1, 2, 3, 4].forEach((who) => void slots.acquire().then(() => entered.push(who)));
    slots.resize(3);
    await turn();
    expect(entered).toEqual([1, 2, 3]);
    slots.resize(1);
    slots.release();
    slots.release();
    await turn();
    expect(entered).toEqual([1, 2, 3]);
    slots.release();
    await turn();
    expect(entered).toEqual([1, 2, 3, 4]);
  });
});

describe("the share of retries", () => {
  test.each([
    [64, { first: 48, retry: 16 }],
    [5, { first: 4, retry: 1 }],
    [2, { first: 1, retry: 1 }],
    [1, { first: 1, retry: 1 }],
  ])("of %i attempts", (maxInFlight, expected) => {
    expect(shareInFlight(maxInFlight, true)).toEqual(expected);
  });

  test("is at most a quarter, at least one, and with first attempts never more than the partner allows", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 1_024 }), (maxInFlight) => {
        const { first, retry } = shareInFlight(maxInFlight, true);
        expect(retry).toBeGreaterThanOrEqual(1);
        expect(retry).toBeLessThanOrEqual(Math.max(1, maxInFlight / 4));
        expect(first + retry).toBeLessThanOrEqual(maxInFlight);
      }),
    );
  });

  test("is zero before the first failure", () => {
    expect(shareInFlight(64, false).first).toBe(64);
  });
});
