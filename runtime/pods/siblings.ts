// The processes of one pod, and the messages between them. They pass through the supervisor of the pod, not NATS.
import { deserialize, serialize } from "node:v8";
import type { Pods } from "./pods.ts";

/**
 * The processes of one pod. Each process is a pod to NATS: `own`, `names` and `live()` hold the names that heartbeats
 * and {@link Pods.live} over NATS use. A live pod whose name is in `names` is therefore a sibling or this process;
 * every other live pod is elsewhere. Bodies may hold `Uint8Array`, `Map` and `Date`: they are structured clones.
 */
export interface Siblings extends Pods {
  /** Names of all processes of this pod, this one included, whether they run or not. Fixed for the life of the pod. */
  readonly names: readonly string[];
}

/** Connection of one process to the supervisor. */
export interface SiblingWire {
  /** Sends a frame to a process. `sent` is called when the frame has left, with an error when it has not. */
  send(to: string, frame: SiblingFrame, sent: (error: Error | null) => void): void;
}

/** One message between processes. The supervisor does not read `bytes`. */
export type SiblingFrame =
  | { readonly kind: "request" | "publish"; readonly id: number; readonly topic: string; readonly bytes: Uint8Array }
  | { readonly kind: "response"; readonly id: number; readonly bytes: Uint8Array }
  /** The request has no response: no handler, a failed handler, or a process that does not run. */
  | { readonly kind: "refused"; readonly id: number };

/** Largest body, in bytes. */
export const siblingBytesMax = 4 * 1024 * 1024;
/** Requests without a response yet, and frames that have not left. More are refused. */
export const siblingRequestsMax = 1024;
const unsentMax = 256;
/** Default timeout of a request: that of requests between pods. */
const requestTimeoutMs = 250;

interface Waiting {
  readonly to: string;
  readonly resolve: (body: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** The connection of one process to the others of its pod. */
export class PodSiblings implements Siblings {
  readonly own: string;
  readonly names: readonly string[];
  readonly #wire: SiblingWire;
  readonly #onFault: (error: unknown, topic: string) => void;
  readonly #handlers = new Map<string, (message: unknown) => object | Promise<object>>();
  readonly #waiting = new Map<number, Waiting>();
  #live: readonly string[];
  #unsent = 0;
  #lastId = 0;

  /** @param onFault receives the error of a handler, and of a message that cannot be sent. @default none */
  constructor(
    own: string,
    names: readonly string[],
    wire: SiblingWire,
    onFault: (error: unknown, topic: string) => void = () => undefined,
  ) {
    this.own = own;
    this.names = names;
    this.#wire = wire;
    this.#onFault = onFault;
    this.#live = [own];
  }

  live(): readonly string[] {
    return this.#live;
  }

  isConnected(): boolean {
    return this.#live.length > 1;
  }

  async request(to: string, topic: string, body: object, timeoutMs = requestTimeoutMs): Promise<unknown> {
    if (!this.#live.includes(to)) throw new Error(`the process ${to} does not run`);
    if (this.#waiting.size >= siblingRequestsMax)
      throw new Error(`${siblingRequestsMax} requests to processes are open`);
    const bytes = packed(body);
    const id = this.#nextId();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#fail(id, `the process ${to} did not respond in time`), timeoutMs);
      this.#waiting.set(id, { to, resolve, reject, timer });
      this.#post(to, { kind: "request", id, topic, bytes });
    });
  }

  publish(to: string, topic: string, message: object): void {
    if (!this.#live.includes(to)) return;
    try {
      this.#post(to, { kind: "publish", id: this.#nextId(), topic, bytes: packed(message) });
    } catch (error) {
      this.#onFault(error, topic);
    }
  }

  serve(topic: string, handler: (message: unknown) => object | Promise<object>): void {
    this.#handlers.set(topic, handler);
  }

  /** Handles a frame of another process. */
  receive(from: string, frame: SiblingFrame): void {
    if (frame.kind === "response") this.#settle(frame.id)?.resolve(deserialize(frame.bytes));
    else if (frame.kind === "refused") this.#fail(frame.id, `the process ${from} did not answer the request`);
    else void this.#handle(from, frame);
  }

  /** Replaces the processes that run. Requests to others fail at once. */
  setLive(names: readonly string[]): void {
    this.#live = [...new Set([...names, this.own])].sort();
    for (const [id, { to }] of this.#waiting) if (!this.#live.includes(to)) this.#fail(id, `the process ${to} ended`);
  }

  async #handle(from: string, { kind, id, topic, bytes }: Asked): Promise<void> {
    try {
      const handler = this.#handlers.get(topic);
      if (handler === undefined) throw new Error(`the topic ${topic} has no handler`);
      const answer = await handler(deserialize(bytes));
      if (kind === "request") this.#post(from, { kind: "response", id, bytes: packed(answer) });
    } catch (error) {
      this.#onFault(error, topic);
      if (kind === "request") this.#post(from, { kind: "refused", id });
    }
  }

  #post(to: string, frame: SiblingFrame): void {
    if (this.#unsent >= unsentMax) {
      // The id of a response belongs to the other process, whose request then meets its timeout.
      if (frame.kind === "request") this.#fail(frame.id, `${unsentMax} messages to processes have not left`);
      return;
    }
    this.#unsent += 1;
    this.#wire.send(to, frame, (error) => {
      this.#unsent -= 1;
      if (error !== null && frame.kind === "request") this.#fail(frame.id, error.message);
    });
  }

  #fail(id: number, reason: string): void {
    this.#settle(id)?.reject(new Error(reason));
  }

  #settle(id: number): Waiting | undefined {
    const request = this.#waiting.get(id);
    clearTimeout(request?.timer);
    this.#waiting.delete(id);
    return request;
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

type Asked = Extract<SiblingFrame, { readonly topic: string }>;

/** @throws Error for a body above the bound */
function packed(body: object): Uint8Array {
  const bytes = serialize(body);
  if (bytes.length <= siblingBytesMax) return bytes;
  throw new Error(`a message between processes has ${bytes.length} bytes; at most ${siblingBytesMax} are possible`);
}
