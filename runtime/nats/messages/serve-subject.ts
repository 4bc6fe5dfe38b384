import type { NatsConnectionHandle } from "../connection/connect.ts";

/** One message, with or without a request for an answer. */
export interface SubjectMessage {
  /** Last token of the subject. */
  readonly token: string;
  readonly data: Uint8Array;
  /** True when the sender waits for a response. */
  readonly isRequest: boolean;
  /** The header of this name; undefined without one. */
  readonly traceparent: string | undefined;
  answer(body: object): void;
}

/**
 * Subscribes to `<subject>.<token>`. Each message goes to one process of the queue group.
 *
 * @returns a function that ends the subscription; it resolves after the last message
 */
export function serveSubject(
  { connection }: NatsConnectionHandle,
  subject: string,
  queue: string,
  onMessage: (message: SubjectMessage) => void,
): () => Promise<void> {
  const subscription = connection.subscribe(`${subject}.*`, {
    queue,
    callback: (error, message) => {
      if (error === null) {
        onMessage({
          token: message.subject.slice(subject.length + 1),
          data: message.data,
          isRequest: message.reply !== undefined && message.reply !== "",
          traceparent: message.headers?.get("traceparent") || undefined,
          answer: (body) => void message.respond(JSON.stringify(body)),
        });
      }
    },
  });
  return async () => {
    if (!connection.isClosed()) {
      await subscription.drain().catch(() => undefined);
    }
  };
}
