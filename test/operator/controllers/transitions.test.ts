import { describe, expect, test } from "vitest";
import type { ConditionStatus } from "../../../crds/reasons.ts";
import { transitionsBetween } from "../../../operator/controllers/transitions.ts";
import type { ResourceStatus } from "../../../operator/resource-types.ts";

const statusOf = (
  ready: ConditionStatus,
  reason: string,
  accepted: ConditionStatus = "True",
  generation = 1,
): ResourceStatus => ({
  observedGeneration: generation,
  conditions: [
    {
      type: "Accepted",
      status: accepted,
      reason: "Accepted",
      message: "",
      lastTransitionTime: "",
      observedGeneration: generation,
    },
    {
      type: "Ready",
      status: ready,
      reason,
      message: `because of ${reason}`,
      lastTransitionTime: "",
      observedGeneration: generation,
    },
  ],
});
const none = { warnings: [] };
const warned = { warnings: ["the path has no version"] };

describe("an event", () => {
  test.each([
    ["becomes Ready", undefined, statusOf("True", "Ready"), ["Normal Ready"]],
    [
      "is no longer Ready",
      statusOf("True", "Ready"),
      statusOf("False", "PartiallyApplied"),
      ["Warning PartiallyApplied"],
    ],
    [
      "is not Ready for another reason",
      statusOf("False", "SecretNotFound"),
      statusOf("False", "Conflicted"),
      ["Warning Conflicted"],
    ],
    ["is Ready in another way", statusOf("True", "Ready"), statusOf("True", "Paused"), ["Normal Paused"]],
    ["is as it was", statusOf("False", "Invalid"), statusOf("False", "Invalid"), []],
    ["is not known yet", statusOf("True", "Ready"), statusOf("Unknown", "Pending"), []],
  ] as const)("for an object that %s: %j → %j", (_what, before, after, events) => {
    expect(transitionsBetween(before, after, none).map(({ type, reason }) => `${type} ${reason}`)).toEqual(events);
  });

  test("carries the message", () => {
    expect(transitionsBetween(undefined, statusOf("False", "Invalid"), none)).toEqual([
      { type: "Warning", reason: "Invalid", note: "because of Invalid" },
    ]);
  });

  test("reports each warning once for a generation, at its decision", () => {
    const questionable = { type: "Warning", reason: "Questionable", note: "the path has no version" };
    const pending = statusOf("Unknown", "Pending", "Unknown");
    const ready = statusOf("True", "Ready");
    expect(transitionsBetween(undefined, pending, warned)).toEqual([]);
    expect(transitionsBetween(pending, ready, warned)).toContainEqual(questionable);
    expect(transitionsBetween(ready, statusOf("False", "NoReadyPods"), warned)).not.toContainEqual(questionable);
    expect(transitionsBetween(ready, statusOf("True", "Ready", "True", 2), warned)).toEqual([questionable]);
    expect(transitionsBetween(pending, ready, undefined)).toHaveLength(1);
  });
});
