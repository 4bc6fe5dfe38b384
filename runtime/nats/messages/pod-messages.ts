import type { MsgHdrs } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "../connection/connect.ts";
import type { Layout } from "../layout.ts";

/** Short messages from one pod to another. No stream stores them. */
export type PodMessages = ReturnType<typeof createPodMessages>;

/** Default timeout: well above a round trip, well below the timeout of a client. */
const requestTimeoutMs = 250;

/** One message, with or without a request for a response. */
export interface SubjectMessage {
  /** Last token of the subject. */
  readonly token: string;
  readonly data: Uint8Array;
  /** True when the sender waits for a response. */
  readonly isRequest: boolean;
  /** The header of this name; undefined without one. */
  readonly traceparent: string | undefined;
  /** All values of each header, by its name in lower case. */
  readonly headers: () => Readonly<Record<string, readonly string[] | undefined>>;
  respond(body: object): void;
}

/**
 * Creates the messages to and from this pod.
 * @param onFault receives the error of a request without a response. @default none
 */
export function createPodMessages(
  nats: NatsConnectionHandle,
  { podSubject }: Pick<Layout, "podSubject">,
  own: string,
  onFault: (error: unknown, topic: string) => void = () => undefined,
) {
  const handlers = new Map<string, (message: unknown) => object | Promise<object>>();
  const stop = serveSubject(nats, podSubject(own), own, (received) => {
    const message = parsed(received.data);
    const handler = message === undefined ? undefined : handlers.get(received.token);
    if (handler !== undefined)
      void respond(received, async () => handler(message)).catch((error: unknown) => onFault(error, received.token));
  });
  return {
    /** True while other pods can be reached. */
    isConnected: () => nats.isConnected(),
    /**
     * Sends a request to another pod; its response is parsed JSON.
     * @throws NoReplyError, at once without a connection or without a pod of that name
     */
    request: async (pod: string, topic: string, body: object, timeoutMs = requestTimeoutMs): Promise<unknown> => {
      const subject = `${podSubject(pod)}.${topic}`;
      const response = await nats.requests.request(subject, JSON.stringify(body), { timeoutMs });
      return parsed(response);
    },
    /** Sends a message to another pod, without a guarantee that it arrives. */
    publish: (pod: string, topic: string, message: object) =>
      nats.outbox.publish(`${podSubject(pod)}.${topic}`, JSON.stringify(message)),
    /** Handles requests to this pod under a topic. A message that is not JSON gets no response. */
    serve: (topic: string, handler: (message: unknown) => object | Promise<object>): void =>
      void handlers.set(topic, handler),
    /** Ends the subscription. */
    stop,
  };
}

async function respond(received: SubjectMessage, handle: () => Promise<object>): Promise<void> {
  const body = await handle();
  if (received.isRequest) received.respond(body);
}

function parsed(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString());
  } catch {
    return undefined;
  }
}

/** Names that differ in case alone are one header, as in HTTP. */
function headersOf(headers: MsgHdrs | undefined): Readonly<Record<string, readonly string[]>> {
  const all = headers
    ?.keys()
    .flatMap((name) => headers.values(name).map((value) => [name.toLowerCase(), value] as const));
  const found: Record<string, string[]> = {};
  for (const [name, value] of all ?? []) (found[name] ??= []).push(value);
  return found;
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
          headers: () => headersOf(message.headers),
          respond: (body) => void message.respond(JSON.stringify(body)),
        });
      }
    },
  });
  return async () => {
    if (!connection.isClosed()) await subscription.drain().catch(() => undefined);
  };
}
