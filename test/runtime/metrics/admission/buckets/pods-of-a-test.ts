import type { Pods } from "../../../../../runtime/pods/pods.ts";

/** Pods of one process that hear each other at once. */
export interface PodsOfATest {
  /** One more of them. */
  join(name: string): Pods;
  /** From now on nobody hears it, nor is it counted as alive. */
  lose(name: string): void;
  /** Nobody hears anybody any more, and nobody knows who is alive. @default false */
  isCut: boolean;
  /** Messages that were sent. */
  sent(): number;
}

type Answer = Parameters<Pods["serve"]>[1];

/** Nobody yet. */
export function podsOfATest(): PodsOfATest {
  const pods = new Map<string, Map<string, Answer>>();
  let sent = 0;
  const deliver = async (pod: string, topic: string, message: object): Promise<unknown> => {
    sent += 1;
    const answer = pods.get(pod)?.get(topic);
    if (answer === undefined || own.isCut) throw new Error(`nobody hears ${topic} at ${pod}`);
    return JSON.parse(JSON.stringify(await answer(JSON.parse(JSON.stringify(message)))));
  };
  const own: PodsOfATest = {
    isCut: false,
    sent: () => sent,
    lose: (name) => void pods.delete(name),
    join(name) {
      const answers = new Map<string, Answer>();
      pods.set(name, answers);
      return {
        own: name,
        live: () => [...pods.keys()].sort(),
        isConnected: () => !own.isCut,
        ask: (pod, topic, question) => deliver(pod, topic, question),
        // Whoever tells does not learn what becomes of it.
        tell: (pod, topic, message) => void deliver(pod, topic, message).catch(() => undefined),
        serve: (topic, answer) => void answers.set(topic, answer),
      };
    },
  };
  return own;
}
