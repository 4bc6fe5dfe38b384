import { createHash, createHmac } from "node:crypto";
import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { Agent, request } from "undici";

/** The order of a bare loop. */
export interface BareOrder {
  readonly url: string;
  readonly prefix: string;
  readonly count: number;
  readonly port: number;
}

/**
 * The least that a worker could do, with the official clients alone: pull → sign → POST → record → acknowledge, 256 at
 * once. No classification, no retries, no history that anybody could read, no guard.
 */
const { url, prefix, count, port } = JSON.parse(process.argv[2] ?? "") as BareOrder;
const inFlightMax = 256;
const key = "a key of at least thirty-two bytes, for tests only";
const target = `http://127.0.0.1:${port}/webhooks/v1/x`;
const dispatcher = new Agent({ connections: inFlightMax });
const connection = await connect({ servers: [url] });
const manager = await jetstreamManager(connection);
const js = jetstream(connection);
const stream = `${prefix.toUpperCase()}_DELIVERIES`;
await manager.consumers.add(stream, {
  durable_name: "bare",
  filter_subject: `${prefix}.dlv.>`,
  ack_policy: AckPolicy.Explicit,
  max_ack_pending: inFlightMax,
});
const consumer = await js.consumers.get(stream, "bare");
process.send?.("ready");

let done = 0;
const messages = await consumer.consume({ max_messages: inFlightMax });
for await (const message of messages) {
  void deliver(message.data, message.headers?.get("Hg-Event") ?? "").then(() => {
    message.ack();
    done += 1;
    if (done === count) messages.stop();
  });
}

async function deliver(body: Uint8Array, eventId: string): Promise<void> {
  const timestamp = new Date().toISOString();
  const bodyHash = createHash("sha256").update(body).digest("hex");
  const text = `${timestamp}\nPOST\n/webhooks/v1/x\n${bodyHash}`;
  const signature = createHmac("sha256", key).update(text).digest("base64");
  const headers = {
    "content-type": "application/json",
    "x-event-id": eventId,
    "x-timestamp": timestamp,
    "x-signature": `v1=${signature}`,
    "x-attempt": "1",
  };
  const answer = await request(target, { method: "POST", headers, body, dispatcher });
  await answer.body.dump();
  const record = JSON.stringify({ eventId, at: timestamp, status: answer.statusCode });
  await js.publish(`${prefix}.att.acme.${eventId}`, record);
}
