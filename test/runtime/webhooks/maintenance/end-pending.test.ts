import { expect, test } from "vitest";
import { createPendingEnder } from "../../../../runtime/webhooks/maintenance/end-pending.ts";
import { attemptRecord } from "../../../../runtime/webhooks/records/attempt-records.ts";
import { deliveryMessage } from "../../../../runtime/webhooks/records/delivery-record.ts";
import { compiled, firstAttempt, memoryContext, storedAs } from "../memory-context.ts";

interface Stored {
  /** Status of its attempt. @default none was made */
  readonly status?: number;
  readonly hasLetter?: boolean;
}

/** What is done to a delivery that is too old, when this pod may run jobs until its attempts are read. */
async function done(isLeaderAfterwards: boolean, { status, hasLetter }: Stored = {}): Promise<readonly string[]> {
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
  const timings = { totalMs: 1 };
  const response = { kind: "response", status: status ?? 200, headers: {}, body: "", bodyTruncated: false } as const;
  const settlement =
    status === 200 ? { kind: "delivered" as const } : { kind: "rejected" as const, reason: "status_422" as const };
  const made = { delivery, partner, startedAtMs: 0, outcome: { ...response, timings }, settlement, pod: "one" };
  const record = { ...storedAs(deliveryMessage(delivery, partner.lane, Buffer.from(""))), seq: 1 };
  const records = status === undefined ? [] : [{ ...record, data: Buffer.from(JSON.stringify(attemptRecord(made))) }];
  const attempts = { ...context.attempts, read: async () => ((isLeader = isLeaderAfterwards), records) };
  const deadLetters = { ...context.deadLetters, of: async () => (hasLetter === true ? [record] : []) };
  const ender = createPendingEnder({ ...context, deliveries, attempts, deadLetters }, () => isLeader);
  const end = { partner, reason: "held_expired", detail: "too old", isValid: () => true } as const;
  await ender.run({ ...end, acceptedUpToMs: delivery.acceptedAtMs });
  return memory.done;
}

test("a delivery that is too old ends as a dead letter", async () => {
  expect(await done(true)).toEqual(["letter: stored", "record dead", "remove 3"]);
});

test("a delivery whose attempt was rejected and never settled ends as that dead letter, once", async () => {
  expect(await done(true, { status: 422 })).toEqual(["letter: stored", "remove 3"]);
  expect(await done(true, { status: 422, hasLetter: true })).toEqual(["remove 3"]);
  expect(await done(true, { status: 200 })).toEqual(["remove 3"]);
  expect(await done(false, { status: 422 })).toEqual([]);
});

test("a pod that stood still after it read the attempts of a delivery does not end it", async () => {
  expect(await done(false)).toEqual([]);
});
