import type { Msg } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "./connect.ts";
import { flatHeaders } from "./stored-messages.ts";

/**
 * A message that a consumer handed out; JetStream hands it out again unless it is acknowledged or worked on in time.
 */
export interface PulledMessage {
  readonly subject: string;
  readonly seq: number;
  /** 1 the first time. */
  readonly deliveryCount: number;
  /** When JetStream stored it, Unix milliseconds by its clock. */
  readonly storedAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
  /** Done, without waiting to hear that JetStream knows it. */
  ack(): void;
  /**
   * Done, and JetStream knows it.
   *
   * @throws Unanswered
   */
  ackConfirmed(): Promise<void>;
  /** Still at it: starts the time in which to acknowledge anew. */
  working(): void;
  /** Not now and not here: JetStream may hand it out again at once. */
  release(): void;
}

const ack = "+ACK";
const working = "+WPI";
const release = "-NAK";

/** Reads what the server says in the reply subject. Source: NATS ADR-15, both forms of `$JS.ACK`. */
export function pulledMessage(handle: NatsConnectionHandle, message: Msg): PulledMessage {
  const reply = message.reply ?? "";
  const tokens = reply.split(".");
  // The longer form puts a domain and an account hash in front of the stream.
  const start = tokens.length > 9 ? 6 : 4;
  const number = (index: number): number => Number(tokens[start + index]);
  const say = (word: string): void => {
    handle.outbox.publish(reply, word);
  };
  return {
    subject: message.subject,
    deliveryCount: number(0),
    seq: number(1),
    storedAtMs: Math.floor(number(3) / 1e6),
    headers: message.headers === undefined ? {} : flatHeaders(message.headers),
    data: message.data,
    ack: () => say(ack),
    ackConfirmed: async () => void (await handle.requests.ask(reply, ack)),
    working: () => say(working),
    release: () => say(release),
  };
}
