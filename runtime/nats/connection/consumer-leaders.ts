import type { NatsConnection } from "@nats-io/transport-node";

/** Calls back when JetStream has elected the leader of a consumer. */
export interface ConsumerLeaders {
  /** Returns a function that removes the listener. */
  on(stream: string, consumer: string, listener: () => void): () => void;
}

/** A server of a cluster publishes it when it becomes the leader of a consumer. Source: NATS ADR-8. */
export const leaderSubject = "$JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED.*.*";

/** Follows the elections of all consumers. Users without the right to subscribe hear of none. */
export function followConsumerLeaders(connection: NatsConnection): ConsumerLeaders {
  const listeners = new Map<string, Set<() => void>>();
  connection.subscribe(leaderSubject, {
    callback: (error, message) => {
      if (error !== null) return;
      const [stream = "", consumer = ""] = message.subject.split(".").slice(-2);
      listeners.get(keyOf(stream, consumer))?.forEach((listener) => listener());
    },
  });
  return {
    on: (stream, consumer, listener) => {
      const key = keyOf(stream, consumer);
      const own = listeners.get(key) ?? new Set();
      listeners.set(key, own.add(listener));
      return () => {
        own.delete(listener);
        if (own.size === 0 && listeners.get(key) === own) listeners.delete(key);
      };
    },
  };
}

/** The same for a stream. */
export const streamLeaderSubject = "$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.*";

/** Calls back with each stream whose leader was elected. Users without the right to subscribe hear of none. */
export function followStreamLeaders(connection: NatsConnection, onLeader: (stream: string) => void): void {
  connection.subscribe(streamLeaderSubject, {
    callback: (error, message) => {
      if (error === null) onLeader(message.subject.split(".").at(-1) ?? "");
    },
  });
}

/** Names of streams and consumers have no dots. */
function keyOf(stream: string, consumer: string): string {
  return `${stream}.${consumer}`;
}
