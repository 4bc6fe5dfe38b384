import type { ConsumerInfo, StreamInfo } from "@nats-io/jetstream";
import type { NatsConnectionHandle } from "../connection/connect.ts";

const streamsMax = 64;
const consumersMax = 500;

/** State of every stream and consumer of the account, without any message. @throws Error of NATS */
export async function readStreamStates({ connection, manager }: NatsConnectionHandle): Promise<object> {
  const streams: object[] = [];
  for await (const { config, state, cluster } of manager.streams.list()) {
    if (streams.length >= streamsMax) break;
    const replicas = { leader: cluster?.leader, replicas: cluster?.replicas };
    streams.push({
      ...streamState({ config, state }),
      ...replicas,
      consumers: await consumersOf(manager, config.name),
    });
  }
  return { server: connection.info?.version, jetstream: connection.info?.jetstream, streams };
}

function streamState({ config, state }: Pick<StreamInfo, "config" | "state">): object {
  const { name, retention, max_bytes, max_age, max_msgs, num_replicas, discard, storage, duplicate_window } = config;
  const limits = { retention, max_bytes, max_age, max_msgs, num_replicas, discard, storage, duplicate_window };
  const { messages, bytes, first_seq, first_ts, last_seq, last_ts, consumer_count } = state;
  const held = { messages, bytes, first_seq, first_ts, last_seq, last_ts, consumer_count };
  return { name, limits, held };
}

async function consumersOf(manager: NatsConnectionHandle["manager"], stream: string): Promise<readonly object[]> {
  const consumers: object[] = [];
  for await (const info of manager.consumers.list(stream)) {
    if (consumers.length >= consumersMax) break;
    consumers.push(consumerState(info));
  }
  return consumers;
}

function consumerState({ name, config, ...info }: ConsumerInfo): object {
  const { delivered, ack_floor, num_ack_pending, num_redelivered, num_waiting, num_pending } = info;
  const { ack_wait, max_ack_pending, max_deliver } = config;
  return {
    name,
    delivered,
    ack_floor,
    num_ack_pending,
    num_redelivered,
    num_waiting,
    num_pending,
    ack_wait,
    max_ack_pending,
    max_deliver,
  };
}
