import type { NatsConnection, PublishOptions } from "@nats-io/transport-node";

/** What a connection sends, gathered. */
export interface Outbox {
  /**
   * Sends in the order of the calls, with everything else of this turn of the event loop; nothing without a connection.
   */
  publish(subject: string, payload: Uint8Array | string, options?: PublishOptions): void;
  /** Sends what was gathered now. */
  flush(): void;
}

interface Letter {
  readonly subject: string;
  readonly payload: Uint8Array | string;
  readonly options: PublishOptions | undefined;
}

/** Gathered messages at which nothing waits for the turn to end. */
const lettersMax = 512;

/**
 * Gathers what is sent in one turn of the event loop into one write. The client writes after every callback, so that
 * each record, retry and acknowledgement would cost a system call of its own.
 */
export function createOutbox(connection: Pick<NatsConnection, "publish">, isConnected: () => boolean): Outbox {
  let letters: Letter[] = [];
  let isScheduled = false;
  const flush = (): void => {
    const ready = letters;
    letters = [];
    // The client would keep it for a connection that may come back long after anybody cares.
    if (isConnected()) {
      ready.forEach((letter) => send(connection, letter));
    }
  };
  return {
    publish: (subject, payload, options) => {
      letters.push({ subject, payload, options });
      if (letters.length >= lettersMax) {
        flush();
      } else if (!isScheduled) {
        isScheduled = true;
        setImmediate(() => {
          isScheduled = false;
          flush();
        });
      }
    },
    flush,
  };
}

/**
 * The client refuses what is larger than the server takes, and everything once the connection drains. Nobody is there
 * to catch that here; whoever asked for an answer gets none, and what comes behind must go out all the same.
 */
function send(connection: Pick<NatsConnection, "publish">, { subject, payload, options }: Letter): void {
  try {
    connection.publish(subject, payload, options);
  } catch {
    // As good as lost on the way, which every caller must expect.
  }
}
