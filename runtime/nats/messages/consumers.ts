import { AckPolicy, JetStreamApiError, type ConsumerConfig, type ConsumerInfo } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { messageLeaseMs } from "../connection/lease-clock.ts";
import { readConsumerInfo } from "./stream-info.ts";

/** A durable pull consumer with explicit acknowledgements and without a limit of redeliveries. */
interface DurableConsumer {
  readonly stream: string;
  readonly name: string;
  readonly filter: string;
  /** Largest number of delivered messages without acknowledgement, over all pods. The server enforces it. */
  readonly maxAckPending: number;
  /** Shown in listings of consumers. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * Acknowledgement waits by delivery count. The first wait bounds how long the messages of a killed pod are delayed. The
 * later waits limit how often a message that crashes its worker is redelivered.
 */
const ackWaitsMs = [messageLeaseMs, messageLeaseMs, 4_000, 8_000, 15_000, 30_000, 60_000] as const;

const apiCode = { consumerNotFound: 10014, consumerExists: 10148, consumerNameInUse: 10013 } as const;

/**
 * Creates the consumer or updates an existing one. Acknowledged messages stay acknowledged.
 * @throws JetStreamApiError
 */
export async function ensureConsumer(handle: NatsConnectionHandle, consumer: DurableConsumer): Promise<ConsumerInfo> {
  const { stream, name } = consumer;
  const config = configOf(consumer);
  try {
    return await handle.manager.consumers.add(stream, config);
  } catch (error) {
    if (!hasCode(error, apiCode.consumerExists) && !hasCode(error, apiCode.consumerNameInUse)) throw error;
    return await handle.manager.consumers.update(stream, name, config);
  }
}

/** The server's record of the consumer; undefined when there is none. */
export function consumerInfo(
  handle: NatsConnectionHandle,
  stream: string,
  name: string,
): Promise<ConsumerInfo | undefined> {
  return ifExists(() => readConsumerInfo(handle, stream, name));
}

/** Lists the names of all consumers of the stream. */
export async function consumerNames(handle: NatsConnectionHandle, stream: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (;;) {
    const payload = await handle.requests.request(
      `$JS.API.CONSUMER.NAMES.${stream}`,
      JSON.stringify({ offset: names.length }),
    );
    const page = JSON.parse(Buffer.from(payload).toString()) as {
      consumers?: readonly string[] | null;
      total?: number;
    };
    names.push(...(page.consumers ?? []));
    if ((page.consumers ?? []).length === 0 || names.length >= (page.total ?? 0)) return names;
  }
}

/** Deletes the consumer if it exists. */
export async function deleteConsumer(handle: NatsConnectionHandle, stream: string, name: string): Promise<void> {
  await ifExists(() => handle.manager.consumers.delete(stream, name));
}

async function ifExists<T>(step: () => Promise<T>): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    if (hasCode(error, apiCode.consumerNotFound)) return undefined;
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
