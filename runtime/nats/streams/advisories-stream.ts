import { parseJsonObject } from "../../json/json-body.ts";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { consumerInfo, ensureConsumer } from "../messages/consumers.ts";
import type { Layout } from "../layout.ts";

/**
 * An advisory of JetStream about a message that its consumer will not redeliver. Source: NATS ADR-8, `jsm.go` schemas.
 */
export interface Advisory {
  /** `max_deliver`: the limit of deliveries was reached; `terminated`: a client ended its delivery. */
  readonly kind: "max_deliver" | "terminated";
  readonly stream: string;
  readonly consumer: string;
  /** Sequence of the message in its stream. */
  readonly seq: number;
}

/** `HG_ADVISORIES`: advisories, which NATS would otherwise publish once without a subscriber. */
export interface AdvisoriesStream {
  /** Handles new advisories, at most 64. An advisory whose handler throws is redelivered later. */
  take(handler: (advisory: Advisory) => Promise<void>): Promise<void>;
}

const consumerName = "rescue";
const batchMax = 64;
/** The shortest time that the server accepts. */
const fetchMs = 1_000;
const kindForm = /\.(?<kind>max_deliver|terminated)$/u;

/** Creates the access to the advisories stream. */
export function createAdvisoriesStream(handle: NatsConnectionHandle, layout: Layout): AdvisoriesStream {
  const stream = layout.streams.advisories;
  const filter = "$JS.EVENT.ADVISORY.CONSUMER.>";
  return {
    take: async (handler) => {
      const found = await consumerInfo(handle, stream, consumerName);
      if (found === undefined)
        await ensureConsumer(handle, { stream, name: consumerName, filter, maxAckPending: batchMax });
      else if (found.num_pending + found.num_ack_pending === 0) return;
      const consumer = await handle.manager.jetstream().consumers.get(stream, consumerName);
      for await (const message of await consumer.fetch({ max_messages: batchMax, expires: fetchMs })) {
        const advisory = readAdvisory(message.data);
        if (advisory !== undefined) await handler(advisory);
        message.ack();
      }
    },
  };
}

/** Parses an advisory; undefined for another kind or other content. */
export function readAdvisory(data: Uint8Array): Advisory | undefined {
  const value = parseJsonObject(Buffer.from(data).toString());
  const kind = kindForm.exec(String(value?.["type"]))?.groups?.["kind"];
  const { stream, consumer, stream_seq: seq } = value ?? {};
  if ((kind !== "max_deliver" && kind !== "terminated") || typeof stream !== "string" || typeof seq !== "number")
    return undefined;
  return { kind, stream, consumer: String(consumer), seq };
}
