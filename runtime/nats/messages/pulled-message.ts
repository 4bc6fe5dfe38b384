import type { Msg } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import { readHeaders } from "./headers.ts";
import type { StoredMessage } from "./stored-messages.ts";
import { messageUseMs, type LeaseClock } from "../connection/lease-clock.ts";
import type { Outbox } from "../connection/outbox.ts";

/** A message that a consumer delivered. JetStream redelivers it unless it is acknowledged or extended in time. */
export interface PulledMessage extends StoredMessage {
  /** 1 at the first delivery. */
  readonly deliveryCount: number;
  /** Messages of the consumer that still waited when this one was delivered. */
  readonly waiting: number;
  /**
   * False when JetStream may have redelivered the message, because its acknowledgement wait may have passed: this
   * process or its connection stood still. It stays false.
   */
  isHeld(): boolean;
  /** Acknowledges without waiting for JetStream's confirmation. */
  ack(): void;
  /** Restarts the acknowledgement wait. */
  working(): void;
  /** Returns the message if it is held; JetStream may redeliver it at once. */
  release(): void;
}

/** Encoded once, because each is sent for many messages. */
const ack = Buffer.from("+ACK");
const working = Buffer.from("+WPI");
const release = Buffer.from("-NAK");

/** Extensions per message whose confirmation is awaited: those of one lease. */
const extensionsMax = 4;

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
  return new Pulled(handle, message);
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
  readonly #leases: LeaseClock;
  readonly #reply: string;
  /** A time at which the lease ran for certain. */
  #sinceMs: number;
  /** Times of the last extensions, which are not confirmed yet. */
  #extendedMs: readonly number[] = [];
  #isLost = false;

  constructor({ outbox, leases }: Pick<NatsConnectionHandle, "outbox" | "leases">, message: Msg) {
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
    this.#leases = leases;
    this.#reply = reply;
    // The server sent it after the response that this process read last. It may have waited here since.
    this.#sinceMs = leases.confirmedMs();
  }

  isHeld(): boolean {
    if (!this.#isLost) {
      const confirmed = this.#extendedMs.findLast((sentMs) => this.#leases.isStored(sentMs));
      if (confirmed !== undefined) {
        this.#sinceMs = Math.max(this.#sinceMs, confirmed);
        this.#extendedMs = this.#extendedMs.filter((sentMs) => sentMs > confirmed);
      }
      this.#isLost = this.#leases.nowMs() - this.#sinceMs >= messageUseMs;
    }
    return !this.#isLost;
  }

  ack(): void {
    this.#outbox.publish(this.#reply, ack);
  }

  working(): void {
    // An extension counts only before the lease has ended.
    if (this.isHeld()) this.#extendedMs = [...this.#extendedMs, this.#leases.nowMs()].slice(-extensionsMax);
    this.#outbox.publish(this.#reply, working);
  }

  release(): void {
    // It would return the message of another pod, which may be under way there.
    if (this.isHeld()) this.#outbox.publish(this.#reply, release);
  }
}
