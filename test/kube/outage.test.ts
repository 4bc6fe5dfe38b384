import { describe, expect, test } from "vitest";
import { Outage } from "../../kube/outage.ts";
import { ManualClock, settle } from "../support/manual-clock.ts";

function start(failures: number) {
  const clock = new ManualClock();
  const outage = new Outage(clock, () => 0.5);
  const fail = (times: number): void => {
    for (let failure = 0; failure < times; failure += 1) outage.failed();
  };
  fail(failures);
  const ended: boolean[] = [];
  const wait = (atLeastMs = 0, signal?: AbortSignal): void => {
    void outage.pause(300_000, signal, atLeastMs).then((woken) => ended.push(woken));
  };
  return { clock, outage, fail, ended, wait };
}

describe("the end of an outage", () => {
  test("ends every wait that failures began, within half a second", async () => {
    const { clock, outage, ended, wait } = start(3);
    wait();
    wait();
    outage.succeeded();
    await clock.advanceInSteps(249, 249);
    expect(ended).toEqual([]);
    await clock.advanceInSteps(1, 1);
    expect(ended).toEqual([true, true]);
    expect(clock.waiting).toBe(0);
  });

  test("leaves what the server asked for as it is", async () => {
    const { clock, outage, ended, wait } = start(3);
    wait(10_000);
    outage.succeeded();
    await clock.advanceInSteps(9_999, 1_111);
    expect(ended).toEqual([]);
    await clock.advanceInSteps(1, 1);
    expect(ended).toEqual([true]);
  });

  test("is reported at most once in five seconds, and not lost", async () => {
    const { clock, outage, fail, ended, wait } = start(3);
    outage.succeeded();
    fail(3);
    wait();
    outage.succeeded();
    await clock.advanceInSteps(5_000, 500);
    expect(ended).toEqual([]);
    outage.succeeded();
    await clock.advanceInSteps(500, 250);
    expect(ended).toEqual([true]);
  });

  test("is no matter of waits that began after it", async () => {
    const { clock, outage, ended, wait } = start(3);
    outage.succeeded();
    wait();
    await clock.advanceInSteps(299_999, 99_999);
    expect(ended).toEqual([]);
    await clock.advanceInSteps(1, 1);
    expect(ended).toEqual([false]);
  });
});

test("a few failures between successes are no outage", async () => {
  const { clock, outage, fail, ended, wait } = start(2);
  wait();
  outage.succeeded();
  fail(2);
  outage.succeeded();
  await clock.advanceInSteps(10_000, 500);
  expect(ended).toEqual([]);
});

test("a wait ends with its signal and leaves no timer", async () => {
  const { clock, ended, wait } = start(3);
  const stop = new AbortController();
  wait(0, stop.signal);
  stop.abort();
  await settle();
  expect([ended, clock.waiting]).toEqual([[false], 0]);
});
