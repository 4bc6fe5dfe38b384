import type { ConsumerInfo, StreamInfo, StreamState } from "@nats-io/jetstream";

/** What is counted of a stream and its durable consumers, at one moment. */
export interface StreamCount {
  readonly info: StreamInfo;
  readonly consumers: readonly ConsumerInfo[];
}

/**
 * Compares a copy with its source. The copy is counted first, so that what expires between both counts is missing in
 * the source.
 *
 * @returns the first difference in one sentence; undefined when the copy is whole
 */
export function differenceOf(copy: StreamCount, source: StreamCount): string | undefined {
  return messagesDifference(copy.info, source.info) ?? consumersDifference(copy.consumers, source);
}

function messagesDifference(copy: StreamInfo, source: StreamInfo): string | undefined {
  const { config } = source;
  const [stored, there] = [copy.state, source.state];
  const text = (what: string, found: number, wanted: number): string => `${what} ${found} instead of ${wanted}`;
  if (expires(source) ? stored.messages < there.messages : stored.messages !== there.messages)
    return text("messages", stored.messages, there.messages);
  // Each message of a schedule gets a new number when it is due, on both sides by itself.
  if (config.allow_msg_schedules === true) return undefined;
  if (stored.last_seq !== there.last_seq) return text("last sequence", stored.last_seq, there.last_seq);
  const [first, wanted] = [stored, there].map(firstOf) as [number, number];
  const isFirstRight = expires(source) ? first <= wanted : first === wanted;
  return isFirstRight ? undefined : text("first sequence", first, wanted);
}

/** A stream that never had a message has the first sequence 0 or 1. */
function firstOf({ messages, first_seq: first, last_seq: last }: StreamState): number {
  return messages === 0 ? last + 1 : first;
}

/** Messages of these streams end by their age, on both sides, some moments apart. */
function expires({ config }: StreamInfo): boolean {
  return config.max_age > 0 || config.allow_msg_ttl === true;
}

function consumersDifference(copies: readonly ConsumerInfo[], { info, consumers }: StreamCount): string | undefined {
  for (const consumer of consumers) {
    const copy = copies.find(({ name }) => name === consumer.name);
    if (copy === undefined) return `consumer ${consumer.name} missing`;
    // In a work queue every stored message is unsettled. {@link suspects} are compared with those.
    if (info.config.retention === "workqueue") continue;
    const [stored, there] = [copy.ack_floor.stream_seq, consumer.ack_floor.stream_seq];
    if (stored !== there) return `consumer ${consumer.name}: floor ${stored} instead of ${there}`;
    if (openOf(copy) < openOf(consumer))
      return `consumer ${consumer.name}: hands out ${openOf(copy)} instead of ${openOf(consumer)}`;
  }
  return undefined;
}

/**
 * Messages that a consumer still hands out. Servers may have stored less than its leader counts: a delivery that no
 * copy of the consumer knows is repeated, so it is pending in a backup and unsettled at the leader.
 */
function openOf({ num_pending: pending, num_ack_pending: unsettled }: ConsumerInfo): number {
  return pending + unsettled;
}

/**
 * Consumers of a work queue that have another number of unsettled messages than in the source. A source also counts
 * messages that are gone; a copy that counts less may have messages that no consumer hands out.
 */
export function suspects(copy: StreamCount, source: StreamCount): readonly ConsumerInfo[] {
  if (source.info.config.retention !== "workqueue") return [];
  const before = new Map(source.consumers.map(({ name, num_ack_pending: unsettled }) => [name, unsettled]));
  return copy.consumers.filter(({ name, num_ack_pending: unsettled }) => before.get(name) !== unsettled);
}
