import { AckPolicy, JetStreamApiError, type ConsumerConfig } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "./connect.ts";

/** A durable pull consumer with explicit acknowledgements and without a limit of redeliveries. */
export interface DurableConsumer {
  readonly stream: string;
  readonly name: string;
  readonly filter: string;
  /** Messages that may be handed out and not acknowledged at once, over all pods; the server holds it. */
  readonly maxAckPending: number;
  /** For people who look at the consumer. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * Waits for an acknowledgement, per time a message was handed out. The first one bounds how long what a killed pod held
 * stays away; the later ones keep a message that kills pods from doing so all the time.
 */
export const ackWaitsMs = [2_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000] as const;

const apiCode = { consumerNotFound: 10014, consumerExists: 10148, consumerNameInUse: 10013 } as const;

/**
 * Makes the consumer, or brings one that exists up to date. What was acknowledged stays acknowledged.
 *
 * @throws JetStreamApiError
 */
export async function ensureConsumer(handle: NatsConnectionHandle, consumer: DurableConsumer): Promise<void> {
  const { stream, name } = consumer;
  const config = configOf(consumer);
  try {
    await handle.manager.consumers.add(stream, config);
  } catch (error) {
    if (!hasCode(error, apiCode.consumerExists) && !hasCode(error, apiCode.consumerNameInUse)) {
      throw error;
    }
    await handle.manager.consumers.update(stream, name, config);
  }
}

/** Whether the consumer exists. */
export async function hasConsumer(handle: NatsConnectionHandle, stream: string, name: string): Promise<boolean> {
  try {
    await handle.manager.consumers.info(stream, name);
    return true;
  } catch (error) {
    if (hasCode(error, apiCode.consumerNotFound)) {
      return false;
    }
    throw error;
  }
}

function configOf({ name, filter, maxAckPending, metadata }: DurableConsumer): Partial<ConsumerConfig> {
  return {
    durable_name: name,
    filter_subject: filter,
    ack_policy: AckPolicy.Explicit,
    backoff: ackWaitsMs.map((wait) => nanos(wait)),
    max_deliver: -1,
    max_ack_pending: maxAckPending,
    ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
  };
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.code === code;
}
