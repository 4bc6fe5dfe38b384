import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createRedeliveryCheck } from "../../../../runtime/webhooks/delivery/in-flight.ts";

const newestSeq = 7;

function check(lastSeq: () => Promise<number> = async () => newestSeq) {
  return createRedeliveryCheck(() => 2, lastSeq);
}

function reported(...traces: readonly boolean[]): boolean {
  const redeliveryCheck = check();
  redeliveryCheck.start();
  traces.forEach((hasTrace) => redeliveryCheck.report(hasTrace));
  return redeliveryCheck.isRequired(newestSeq);
}

describe("the redelivery check", () => {
  test("is not required before a pull starts", () => {
    expect(check().isRequired(1)).toBe(false);
  });

  test("is required for each message until the last one of the stream is known, then for those up to it", async () => {
    const redeliveryCheck = check();
    redeliveryCheck.start();
    expect(redeliveryCheck.isRequired(newestSeq + 1)).toBe(true);
    await setImmediate();
    expect([newestSeq, newestSeq + 1].map((seq) => redeliveryCheck.isRequired(seq))).toEqual([true, false]);
  });

  test("is required for each message when the last one of the stream cannot be read", async () => {
    const redeliveryCheck = check(() => Promise.reject(new Error("no reply")));
    redeliveryCheck.start();
    await setImmediate();
    expect(redeliveryCheck.isRequired(newestSeq + 1)).toBe(true);
  });

  test("takes what was stored before the last start of the pull, whichever read ends last", async () => {
    const reads: ((seq: number) => void)[] = [];
    const redeliveryCheck = check(() => new Promise((resolve) => reads.push(resolve)));
    redeliveryCheck.start();
    redeliveryCheck.start();
    reads[1]?.(newestSeq);
    reads[0]?.(1);
    await setImmediate();
    expect([newestSeq, newestSeq + 1].map((seq) => redeliveryCheck.isRequired(seq))).toEqual([true, false]);
  });

  test.each([
    ["stays required while no more messages than can be in flight left no trace", [false, false], true],
    ["ends when more messages in a row than can be in flight left no trace", [false, false, false], false],
    ["restarts at every trace", [false, false, true, false, false], true],
    ["ends after the last trace too", [true, false, false, false], false],
    ["does not count below zero", [false, false, false, false, false], false],
  ])("%s", (_sentence, traces, isRequired) => {
    expect(reported(...traces)).toBe(isRequired);
  });
});
