/** What one pod answers another. Never rejects. */
type Answering = (message: unknown) => object | Promise<object>;

/** The pods that answer metrics together, this one among them. */
export interface Pods {
  /** Name of this pod among the live ones. */
  readonly own: string;
  /** Names of the pods that are alive, sorted. */
  live(): readonly string[];
  /** Whether other pods can be heard at all. */
  isConnected(): boolean;
  /** Asks another pod. @throws when it does not answer in time: by default, in that of a round trip */
  ask(pod: string, topic: string, question: object, timeoutMs?: number): Promise<unknown>;
  /** Tells another pod, which may never hear of it. */
  tell(pod: string, topic: string, message: object): void;
  /** Answers what others ask of this one. */
  serve(topic: string, answer: Answering): void;
}

/** One pod that has nobody beside it. */
export function singlePod(): Pods {
  const nobody = (): never => {
    throw new Error("there is no other pod");
  };
  return {
    own: "alone",
    live: () => ["alone"],
    isConnected: () => true,
    ask: async () => nobody(),
    tell: nobody,
    serve: () => undefined,
  };
}
