import { describe, expect, test } from "vitest";
import { type Breaker, createBreaker } from "../../../../runtime/stores/limits/fan-out.ts";

interface Clocked {
  readonly breaker: Breaker;
  readonly pass: (ms: number) => void;
}

function create(): Clocked {
  let nowMs = 0;
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { breaker: createBreaker(() => nowMs), pass };
}

/** As many failures in a row; whether each request was admitted. */
function fail({ breaker }: Clocked, times: number): readonly boolean[] {
  return Array.from({ length: times }, () => {
    const settle = breaker.admit();
    settle?.("failed");
    return settle !== undefined;
  });
}

describe("a circuit breaker", () => {
  test("opens after five consecutive failures", () => {
    expect(fail(create(), 7)).toEqual([true, true, true, true, true, false, false]);
  });

  test("does not count failures with a success between them", () => {
    const clocked = create();
    fail(clocked, 4);
    clocked.breaker.admit()?.("ok");
    expect(fail(clocked, 4)).toEqual([true, true, true, true]);
    expect(clocked.breaker.admit()).toBeDefined();
  });

  test("does not count a request whose caller aborted", () => {
    const clocked = create();
    fail(clocked, 4);
    clocked.breaker.admit()?.("neutral");
    expect(fail(clocked, 2)).toEqual([true, false]);
  });

  test("admits one request on trial after a second, and all requests after its success", () => {
    const clocked = create();
    fail(clocked, 5);
    expect(clocked.breaker.restMs()).toBe(1_000);
    clocked.pass(999);
    expect([clocked.breaker.restMs(), clocked.breaker.admit()]).toEqual([1, undefined]);
    clocked.pass(1);
    const trial = clocked.breaker.admit();
    expect([trial !== undefined, clocked.breaker.admit()]).toEqual([true, undefined]);
    trial?.("ok");
    expect([clocked.breaker.admit() !== undefined, clocked.breaker.admit() !== undefined]).toEqual([true, true]);
  });

  test("stays open twice as long after each failed trial, up to half a minute", () => {
    const clocked = create();
    fail(clocked, 5);
    const restsMs = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
    for (const restMs of restsMs) {
      clocked.pass(restMs - 1);
      expect(clocked.breaker.admit()).toBeUndefined();
      clocked.pass(1);
      expect(fail(clocked, 2)).toEqual([true, false]);
    }
  });

  test("admits another trial when the caller of the first one aborted", () => {
    const clocked = create();
    fail(clocked, 5);
    clocked.pass(1_000);
    clocked.breaker.admit()?.("neutral");
    expect(clocked.breaker.admit()).toBeDefined();
  });

  test("keeps its one trial when a request from before the opening ends", () => {
    const clocked = create();
    const slow = clocked.breaker.admit();
    fail(clocked, 5);
    clocked.pass(1_000);
    const trial = clocked.breaker.admit();
    slow?.("failed");
    expect([trial !== undefined, clocked.breaker.admit()]).toEqual([true, undefined]);
  });
});
