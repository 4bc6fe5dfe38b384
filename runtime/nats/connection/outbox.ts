import type { NatsConnection, PublishOptions } from "@nats-io/transport-node";

/** Batches the messages that a connection sends. */
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
    // The client would buffer it for a connection that may come back after every caller has given up.
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
 * The client throws for a message above the server's limit, and for every message while the connection drains. The
 * sender is gone by then. A request among them gets no response; later messages must still be sent.
 */
function send(connection: Pick<NatsConnection, "publish">, { subject, payload, options }: Letter): void {
  try {
    connection.publish(subject, payload, options);
  } catch {
    // As good as lost on the way, which every caller must expect.
  }
}
