import { describe, expect, test } from "vitest";
import { createSuspicion } from "../../../../runtime/webhooks/delivery/redelivery-check.ts";

function reported(...traces: readonly boolean[]): boolean {
  const suspicion = createSuspicion(() => 2);
  suspicion.raise();
  traces.forEach((hasTrace) => suspicion.report(hasTrace));
  return suspicion.isRaised;
}

describe("suspicion", () => {
  test("is not raised before a pull starts", () => {
    expect(createSuspicion(() => 2).isRaised).toBe(false);
  });

  test.each([
    ["stays while no more than can be in flight left no trace", [false, false], true],
    ["ends when more in a row than can be in flight left none", [false, false, false], false],
    ["starts over at every trace", [false, false, true, false, false], true],
    ["ends after the last trace too", [true, false, false, false], false],
    ["is not below nothing", [false, false, false, false, false], false],
  ])("%s", (_sentence, traces, isRaised) => {
    expect(reported(...traces)).toBe(isRaised);
  });
});
