import type { NatsConnectionHandle } from "./connect.ts";
import type { Layout } from "./layout.ts";
import { publish, publishHeader, type PublishAnswer } from "./publish.ts";

/** A delivery that ended without success. */
export interface DeadLetterToStore {
  readonly partner: string;
  /** One subject token. */
  readonly reason: string;
  /** The same for every repeat of one dead letter. */
  readonly messageId: string;
  readonly payload: string;
}

/** `HG_DLQ`: what was not delivered, with everything that is known about it. Full means refused, never dropped. */
export interface DeadLettersStream {
  /** @throws Unanswered */
  append(letter: DeadLetterToStore): Promise<PublishAnswer>;
}

/** The dead letters stream of a connection. */
export function createDeadLettersStream(handle: NatsConnectionHandle, layout: Layout): DeadLettersStream {
  return {
    append: ({ partner, reason, messageId, payload }) =>
      publish(handle, {
        subject: layout.deadLetter(partner, reason),
        payload,
        headers: { [publishHeader.messageId]: messageId },
      }),
  };
}
