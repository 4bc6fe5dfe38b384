import type { Msg } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { readHeaders } from "./headers.ts";
import type { StoredMessage } from "./stored-messages.ts";
import type { Outbox } from "../connection/outbox.ts";

/** A message that a consumer delivered. JetStream redelivers it unless it is acknowledged or extended in time. */
export interface PulledMessage extends StoredMessage {
  /** 1 at the first delivery. */
  readonly deliveryCount: number;
  /** Messages of the consumer that still waited when this one was delivered. */
  readonly waiting: number;
  /** Acknowledges without waiting for JetStream's confirmation. */
  ack(): void;
  /** Restarts the acknowledgement wait. */
  working(): void;
  /** Returns the message; JetStream may redeliver it at once. */
  release(): void;
}

/** Encoded once, because each is sent for many messages. */
const ack = Buffer.from("+ACK");
const working = Buffer.from("+WPI");
const release = Buffer.from("-NAK");

/** What the reply subject of a message tells. */
type Delivery = Pick<PulledMessage, "deliveryCount" | "waiting" | "seq" | "storedAtMs">;

/** Parses the reply subject of a message. Source: NATS ADR-15, both forms of `$JS.ACK`. */
export function readReply(reply: string): Delivery {
  const tokens = reply.split(".");
  // The longer form has a domain and an account hash before the stream.
  const start = tokens.length > 9 ? 6 : 4;
  return {
    deliveryCount: Number(tokens[start]),
    waiting: Number(tokens[start + 4]),
    seq: Number(tokens[start + 1]),
    storedAtMs: Math.floor(Number(tokens[start + 3]) / 1e6),
  };
}

/** The message with its acknowledgements. */
export function pulledMessage(handle: NatsConnectionHandle, message: Msg): PulledMessage {
  return new Pulled(handle.outbox, message);
}

/** A class, since closures would be created anew for each message. */
class Pulled implements PulledMessage {
  readonly subject: string;
  readonly seq: number;
  readonly deliveryCount: number;
  readonly waiting: number;
  readonly storedAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
  readonly #outbox: Outbox;
  readonly #reply: string;

  constructor(outbox: Outbox, message: Msg) {
    const reply = message.reply ?? "";
    this.subject = message.subject;
    const { deliveryCount, waiting, seq, storedAtMs } = readReply(reply);
    this.deliveryCount = deliveryCount;
    this.waiting = waiting;
    this.seq = seq;
    this.storedAtMs = storedAtMs;
    this.headers = readHeaders(message);
    this.data = message.data;
    this.#outbox = outbox;
    this.#reply = reply;
  }

  ack(): void {
    this.#outbox.publish(this.#reply, ack);
  }

  working(): void {
    this.#outbox.publish(this.#reply, working);
  }

  release(): void {
    this.#outbox.publish(this.#reply, release);
  }
}
