import type { ConsumerInfo, StreamInfo, StreamInfoRequestOptions } from "@nats-io/jetstream";
import type { NatsConnectionHandle } from "../connection/connect.ts";

/**
 * Reads a stream and its state. A server without the leader of the stream responds too, with a state of zeros.
 *
 * @throws Error when the stream has no leader, or JetStream does not respond
 */
export async function readStreamInfo(
  { manager }: NatsConnectionHandle,
  stream: string,
  options?: Partial<StreamInfoRequestOptions>,
): Promise<StreamInfo> {
  return led(stream, await manager.streams.info(stream, options));
}

/** Reads a consumer, as {@link readStreamInfo}. */
export async function readConsumerInfo(
  { manager }: NatsConnectionHandle,
  stream: string,
  name: string,
): Promise<ConsumerInfo> {
  return led(`${name} of ${stream}`, await manager.consumers.info(stream, name));
}

/** The record, unless its numbers have no source. @throws Error */
export function led<Info extends { readonly cluster?: { readonly leader?: string } }>(what: string, info: Info): Info {
  if (info.cluster !== undefined && (info.cluster.leader ?? "") === "") throw new Error(`${what} has no leader`);
  return info;
}
