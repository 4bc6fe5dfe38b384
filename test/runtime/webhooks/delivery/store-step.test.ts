import { expect, test } from "vitest";
import { NoReplyError } from "../../../../runtime/nats/connection/requests.ts";
import type { PublishResult } from "../../../../runtime/nats/messages/publish.ts";
import { storeStep } from "../../../../runtime/webhooks/delivery/store-step.ts";
import { duplicate, firstAttempt, memoryContext, stored } from "../memory-context.ts";

const lost = (): never => {
  throw new NoReplyError("dlv", "timeout");
};

test.each<[string, readonly (() => PublishResult)[], boolean]>([
  ["a step that is stored counts for this call", [() => stored], true],
  ["a step that another pod has stored does not", [() => duplicate], false],
  ["a step whose first response was lost does", [lost, () => duplicate], true],
])("%s", async (_sentence, answers, expected) => {
  const left = [...answers];
  const isStored = await storeStep(memoryContext().context, {
    step: firstAttempt("one", "did"),
    publish: async () => left.shift()?.() ?? stored,
    hasGoneOn: async () => true,
    partner: "default/one",
    warning: "delivery not stored yet",
  });
  expect({ isStored, left }).toEqual({ isStored: expected, left: [] });
});
