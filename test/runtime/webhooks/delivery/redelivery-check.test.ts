import { describe, expect, test } from "vitest";
import { createRedeliveryCheck } from "../../../../runtime/webhooks/delivery/in-flight.ts";

function reported(...traces: readonly boolean[]): boolean {
  const redeliveryCheck = createRedeliveryCheck(() => 2);
  redeliveryCheck.require();
  traces.forEach((hasTrace) => redeliveryCheck.report(hasTrace));
  return redeliveryCheck.isRequired;
}

describe("the redelivery check", () => {
  test("is not required before a pull starts", () => {
    expect(createRedeliveryCheck(() => 2).isRequired).toBe(false);
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
