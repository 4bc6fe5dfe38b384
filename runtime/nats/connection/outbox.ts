import type { NatsConnection, PublishOptions } from "@nats-io/transport-node";

/** Batches the messages that a connection sends. */
export type Outbox = ReturnType<typeof createOutbox>;

interface OutboxMessage {
  readonly subject: string;
  readonly payload: Uint8Array | string;
  readonly options: PublishOptions | undefined;
}

/** Number of gathered messages that are sent at once. */
const gatheredMax = 512;
/** Number of messages that are held at most; later ones are dropped. */
const heldMax = 65_536;

/**
 * Gathers the messages of one iteration of the event loop into one write. The client writes after every callback, so
 * each record, retry and acknowledgement would cost its own system call.
 */
export function createOutbox(connection: Pick<NatsConnection, "publish">, isConnected: () => boolean) {
  let gathered: OutboxMessage[] = [];
  let isScheduled = false;
  let isHeld = false;
  const flush = (): void => {
    if (isHeld) return;
    const ready = gathered;
    gathered = [];
    // The client would buffer it for a connection that may come back after every caller has given up.
    if (isConnected()) ready.forEach((message) => send(connection, message));
  };
  return {
    /**
     * Sends in the order of the calls, together with all messages of this iteration of the event loop. Without a
     * connection the message is dropped.
     */
    publish: (subject: string, payload: Uint8Array | string, options?: PublishOptions) => {
      if (gathered.length >= heldMax) return;
      gathered.push({ subject, payload, options });
      if (gathered.length >= gatheredMax) flush();
      else if (!isScheduled) {
        isScheduled = true;
        setImmediate(() => {
          isScheduled = false;
          flush();
        });
      }
    },
    /** Sends the gathered messages now, unless they are held. */
    flush,
    /** Gathers messages without sending them until {@link release}. */
    hold: () => {
      flush();
      isHeld = true;
    },
    /** Sends the held messages. */
    release: () => {
      isHeld = false;
      flush();
    },
  };
}

/**
 * The client throws for a message above the server's limit, and for every message while the connection drains. The
 * sender is gone by then. A request among them gets no response; later messages must still be sent.
 */
function send(connection: Pick<NatsConnection, "publish">, { subject, payload, options }: OutboxMessage): void {
  try {
    connection.publish(subject, payload, options);
  } catch {
    // Every caller expects that a message can be lost.
  }
}
