import { expect, test } from "vitest";
import { createPendingEnder } from "../../../../runtime/webhooks/maintenance/end-pending.ts";
import { deliveryMessage } from "../../../../runtime/webhooks/records/delivery-record.ts";
import { compiled, firstAttempt, memoryContext, storedAs } from "../memory-context.ts";

/** What is done to a delivery that is too old, when this pod may run jobs until its attempts are read. */
async function done(isLeaderAfterwards: boolean): Promise<readonly string[]> {
  const memory = memoryContext();
  const { context } = memory;
  const partner = compiled("one");
  const delivery = firstAttempt(partner.key, "d1");
  const message = storedAs(deliveryMessage(delivery, partner.lane, Buffer.from("{}")));
  let isLeader = true;
  const deliveries = {
    ...context.deliveries,
    pending: async (_key: string, place: string, seq: number) =>
      place === "first" && seq === 1 ? [{ ...message, seq: 3 }] : [],
    remove: async (seq: number) => void memory.done.push(`remove ${seq}`),
  };
  const attempts = {
    ...context.attempts,
    read: async () => ((isLeader = isLeaderAfterwards), []),
  };
  const ender = createPendingEnder({ ...context, deliveries, attempts }, () => isLeader);
  const end = { partner, reason: "held_expired", detail: "too old", isValid: () => true } as const;
  await ender.run({ ...end, acceptedUpToMs: delivery.acceptedAtMs });
  return memory.done;
}

test("a delivery that is too old ends as a dead letter", async () => {
  expect(await done(true)).toEqual(["letter: stored", "record dead", "remove 3"]);
});

test("a pod that stood still after it read the attempts of a delivery does not end it", async () => {
  expect(await done(false)).toEqual([]);
});
