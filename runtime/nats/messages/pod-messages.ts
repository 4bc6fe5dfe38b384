import type { NatsConnectionHandle } from "../connection/connect.ts";
import type { Layout } from "../layout.ts";
import { serveSubject, type SubjectMessage } from "./serve-subject.ts";

/** Short messages from one pod to another. No stream stores them. */
export interface PodMessages {
  /** True while other pods can be reached. */
  isConnected(): boolean;
  /**
   * Sends a request to another pod; its response is parsed JSON.
   * @throws Unanswered, at once without a connection or without a pod of that name
   */
  ask(pod: string, topic: string, question: object, timeoutMs?: number): Promise<unknown>;
  /** Sends a message to another pod, without a guarantee that it arrives. */
  tell(pod: string, topic: string, message: object): void;
  /** Answers requests to this pod under a topic. A message that is not JSON is not answered. */
  serve(topic: string, answer: (message: unknown) => object | Promise<object>): void;
  /** Ends the subscription. */
  stop(): Promise<void>;
}

/** Default timeout: well above a round trip, well below the timeout of a client. */
const askTimeoutMs = 250;

/**
 * Creates the messages to and from this pod.
 * @param onFault receives the error of a request without a response. @default none
 */
export function createPodMessages(
  nats: NatsConnectionHandle,
  { podSubject }: Pick<Layout, "podSubject">,
  own: string,
  onFault: (error: unknown, topic: string) => void = () => undefined,
): PodMessages {
  const answers = new Map<string, (message: unknown) => object | Promise<object>>();
  const stop = serveSubject(nats, podSubject(own), own, (received) => {
    const message = parsed(received.data);
    const answerTo = message === undefined ? undefined : answers.get(received.token);
    if (answerTo !== undefined)
      void answered(received, async () => answerTo(message)).catch((error: unknown) => onFault(error, received.token));
  });
  return {
    isConnected: () => nats.isConnected(),
    async ask(pod, topic, question, timeoutMs = askTimeoutMs) {
      const answer = await nats.requests.ask(`${podSubject(pod)}.${topic}`, JSON.stringify(question), { timeoutMs });
      return parsed(answer);
    },
    tell: (pod, topic, message) => nats.outbox.publish(`${podSubject(pod)}.${topic}`, JSON.stringify(message)),
    serve: (topic, answer) => void answers.set(topic, answer),
    stop,
  };
}

async function answered(received: SubjectMessage, answer: () => Promise<object>): Promise<void> {
  const body = await answer();
  if (received.isRequest) received.answer(body);
}

function parsed(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString());
  } catch {
    return undefined;
  }
}
