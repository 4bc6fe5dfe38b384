import type { Pods } from "../../../../runtime/pods/pods.ts";

/** Pods in one process that exchange messages at once. */
export interface PodsOfATest {
  /** Adds a pod. */
  join(name: string): Pods;
  /** Removes a pod: it gets no messages and is not alive. */
  lose(name: string): void;
  /** True while no pod gets messages and none knows the live pods. @default false */
  isCut: boolean;
  /** Messages that were sent. */
  sent(): number;
}

type Handler = Parameters<Pods["serve"]>[1];

/** Creates an installation without pods. */
export function podsOfATest(): PodsOfATest {
  const pods = new Map<string, Map<string, Handler>>();
  let sent = 0;
  const deliver = async (pod: string, topic: string, message: object): Promise<unknown> => {
    sent += 1;
    const handler = pods.get(pod)?.get(topic);
    if (handler === undefined || own.isCut) throw new Error(`the pod ${pod} does not serve ${topic}`);
    return JSON.parse(JSON.stringify(await handler(JSON.parse(JSON.stringify(message)))));
  };
  const own: PodsOfATest = {
    isCut: false,
    sent: () => sent,
    lose: (name) => void pods.delete(name),
    join(name) {
      const handlers = new Map<string, Handler>();
      pods.set(name, handlers);
      return {
        own: name,
        live: () => [...pods.keys()].sort(),
        isConnected: () => !own.isCut,
        request: (pod, topic, question) => deliver(pod, topic, question),
        // The sender of a message does not see its failure.
        publish: (pod, topic, message) => void deliver(pod, topic, message).catch(() => undefined),
        serve: (topic, handler) => void handlers.set(topic, handler),
      };
    },
  };
  return own;
}
