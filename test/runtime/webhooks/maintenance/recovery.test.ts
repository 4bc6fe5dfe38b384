import { expect, test } from "vitest";
import type { Advisory } from "../../../../runtime/nats/streams/advisories-stream.ts";
import type { PublishResult } from "../../../../runtime/nats/messages/publish.ts";
import { deliveryMessage } from "../../../../runtime/webhooks/records/delivery-record.ts";
import { handleAdvisories, type RecoveryDeps } from "../../../../runtime/webhooks/maintenance/recovery.ts";
import { compiled, firstAttempt, memoryContext, stored, storedAs, unexpected } from "../memory-context.ts";

const partner = compiled("one");
const waiting = storedAs(deliveryMessage(firstAttempt(partner.key, "did"), partner.lane, Buffer.from("{}")));

test.each<[string, string, PublishResult, number, number]>([
  ["a delivery that is stored again counts as rescued", "DLV", stored, 0, 1],
  ["a delivery that was settled meanwhile counts nothing", "DLV", unexpected, 0, 0],
  ["an event with two deliveries that were lost counts as rescued", "EV", stored, 2, 1],
  ["an event whose deliveries are all stored counts nothing", "EV", stored, 0, 0],
])("%s", async (_sentence, stream, answer, recovered, expected) => {
  const memory = memoryContext();
  const { context } = memory;
  memory.answers.schedule.push(answer);
  const event = {
    ...waiting,
    subject: "hg.evt.acme.aGFzaA",
    headers: { "Hg-Event": "e-1", "Hg-Type": "a.b", "Hg-Nonce": "n" },
    data: Buffer.from(JSON.stringify({ event_id: "e-1", type: "a.b", tenant: "acme" })),
  };
  Object.assign(context.deliveries, { at: async () => waiting });
  Object.assign(context.events, { at: async () => event });
  const advisory: Advisory = { kind: "max_deliver", stream, consumer: "c", seq: 1 } as unknown as Advisory;
  await handleAdvisories({
    context,
    router: { recover: async () => recovered },
    advisories: { take: async (handle: (one: Advisory) => Promise<void>) => handle(advisory) },
    streams: { events: "EV", deliveries: "DLV" },
  } as unknown as RecoveryDeps);
  expect((await context.metrics.rescued.get()).values.reduce((sum, { value }) => sum + value, 0)).toBe(expected);
});
