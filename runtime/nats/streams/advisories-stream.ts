import type { NatsConnectionHandle } from "../connection/connect.ts";
import { consumerInfo, ensureConsumer } from "../messages/consumers.ts";
import type { Layout } from "../layout.ts";

/** What JetStream says of a message that a consumer will not hand out again. Source: NATS ADR-8, `jsm.go` schemas. */
export interface Advisory {
  /** `max_deliver`: handed out too often; `terminated`: somebody ended it. */
  readonly kind: "max_deliver" | "terminated";
  readonly stream: string;
  readonly consumer: string;
  /** Sequence of the message in its stream. */
  readonly seq: number;
}

/** `HG_ADVISORIES`: what would otherwise be said once, to nobody. */
export interface AdvisoriesStream {
  /** Handles what is new, at most 64; one that throws is offered again later. */
  take(handler: (advisory: Advisory) => Promise<void>): Promise<void>;
}

const consumerName = "rescue";
const batchMax = 64;
/** The shortest time that the server takes. */
const fetchMs = 1_000;
const kindForm = /\.(?<kind>max_deliver|terminated)$/u;

/** The advisories stream of a connection. */
export function createAdvisoriesStream(handle: NatsConnectionHandle, layout: Layout): AdvisoriesStream {
  const stream = layout.streams.advisories;
  const filter = "$JS.EVENT.ADVISORY.CONSUMER.>";
  return {
    take: async (handler) => {
      const found = await consumerInfo(handle, stream, consumerName);
      if (found === undefined) {
        await ensureConsumer(handle, { stream, name: consumerName, filter, maxAckPending: batchMax });
      } else if (found.num_pending + found.num_ack_pending === 0) {
        return;
      }
      const consumer = await handle.manager.jetstream().consumers.get(stream, consumerName);
      for await (const message of await consumer.fetch({ max_messages: batchMax, expires: fetchMs })) {
        const advisory = readAdvisory(message.data);
        if (advisory !== undefined) {
          await handler(advisory);
        }
        message.ack();
      }
    },
  };
}

/** Reads an advisory; undefined when it is of another kind or cannot be read. */
export function readAdvisory(data: Uint8Array): Advisory | undefined {
  const value = parsed(data);
  const kind = kindForm.exec(String(value?.["type"]))?.groups?.["kind"];
  const { stream, consumer, stream_seq: seq } = value ?? {};
  if ((kind !== "max_deliver" && kind !== "terminated") || typeof stream !== "string" || typeof seq !== "number") {
    return undefined;
  }
  return { kind, stream, consumer: String(consumer), seq };
}

function parsed(data: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(data).toString());
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
