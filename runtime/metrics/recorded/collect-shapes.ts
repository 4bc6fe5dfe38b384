import type { Pods } from "../../pods/pods.ts";
import type { QueryRecord, RecordedQueries } from "./query-record.ts";

/** The recorded queries of all pods. */
export interface CollectedQueries {
  readonly live: number;
  /** One for each pod that answered, this one included. */
  readonly answers: readonly RecordedQueries[];
}

const topic = "recorded-queries";
/** Time of the answer of a pod. Another one is not counted. */
const answerMs = 2_000;
const podsMax = 64;

/** Serves the record of this pod to others. The result asks the other live pods, at most 64 of them. */
export function createCollection(record: QueryRecord, pods: Pods): () => Promise<CollectedQueries> {
  pods.serve(topic, () => record.read());
  return async () => {
    const live = pods.live();
    const others = live.filter((pod) => pod !== pods.own);
    const asked = others.slice(0, podsMax).map(async (pod) => {
      const answer = await pods.request(pod, topic, {}, answerMs).catch(() => undefined);
      return isRecord(answer) ? [answer] : [];
    });
    return { live: others.length + 1, answers: [record.read(), ...(await Promise.all(asked)).flat()] };
  };
}

/** A pod of another version may have another form. */
function isRecord(answer: unknown): answer is RecordedQueries {
  const { form, shapes } = (answer ?? {}) as Partial<RecordedQueries>;
  return form === 1 && Array.isArray(shapes);
}
