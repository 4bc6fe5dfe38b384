// The live pods of this installation, and the owner pod of a key. NATS carries the messages elsewhere; runtimes of
// other regions are no pods.
import { hash } from "node:crypto";

/** Handles a message of another pod and returns the response. It never rejects. */
type MessageHandler = (message: unknown) => object | Promise<object>;

/** The live pods of this installation, with messages between them. */
export interface Pods {
  /** Name of this pod among the live ones. */
  readonly own: string;
  /** Names of the live pods, sorted. */
  live(): readonly string[];
  /** True when this pod can exchange messages with other pods. */
  isConnected(): boolean;
  /** Sends a request to another pod. @throws without a response in time; the default is the time of a round trip */
  request(pod: string, topic: string, body: object, timeoutMs?: number): Promise<unknown>;
  /** Sends a message to another pod. Delivery is not guaranteed. */
  publish(pod: string, topic: string, message: object): void;
  /** Handles the requests and messages of other pods under a topic. */
  serve(topic: string, handler: MessageHandler): void;
}

/** The pods of an installation with one pod. */
export function singlePod(): Pods {
  const fail = (): never => {
    throw new Error("there is no other pod");
  };
  return {
    own: "alone",
    live: () => ["alone"],
    isConnected: () => true,
    request: async () => fail(),
    publish: fail,
    serve: () => undefined,
  };
}

/**
 * The owner of a name among pods: the pod whose hash with the name is the greatest (rendezvous hashing). When a pod
 * starts or ends, only the names that it owns change their owner.
 */
export function ownerOf(name: string, pods: readonly string[]): string | undefined {
  const weighed = pods.map((pod) => ({ pod, weight: hash("sha256", `${pod}\n${name}`, "hex") }));
  return weighed.sort((a, b) => (a.weight < b.weight ? 1 : -1))[0]?.pod;
}
