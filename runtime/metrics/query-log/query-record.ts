import { Refusal } from "../../errors/refusal.ts";
import type { Pods } from "../../pods/pods.ts";
import type { QueryContext } from "../planning/query.ts";
import { type AskedQuery, type QueryShape, shapeOf } from "./query-shape.ts";

/** The shapes of recent queries of this pod, in memory only. */
export interface QueryRecord {
  /** Counts a query by its shape. A query that no configuration accepts does not count. */
  add(asked: AskedQuery, context: QueryContext): void;
  read(): RecordedQueries;
}

/** The recorded queries of one pod. It is a message between pods. */
export interface RecordedQueries {
  /** Version of this message. */
  readonly form: 1;
  /** Unix milliseconds. */
  readonly sinceMs: number;
  /** Queries since then, with those of shapes that are no longer stored. */
  readonly seen: number;
  readonly shapes: readonly { readonly shape: QueryShape; readonly count: number }[];
}

/** Shapes of one pod, and of one client in it. Above both, the oldest shape is removed. */
export const shapesMax = 500;
export const clientShapesMax = 100;
/** Bytes of one shape. All shapes of a pod fit into one message of NATS. */
export const shapeBytesMax = 1_400;
export const recordedMs = 24 * 3_600_000;

interface Counted {
  readonly shape: QueryShape;
  readonly firstMs: number;
  count: number;
}

/** Creates an empty record. A shape is removed a day after its first query; the next query begins it again. */
export function createQueryRecord(now: () => number): QueryRecord {
  // In the order of the first query.
  const shapes = new Map<string, Counted>();
  const clients = new Map<string, number>();
  const startMs = now();
  let lost = { sinceMs: startMs, count: 0 };
  const lose = (count: number, nowMs: number): void => {
    if (nowMs - lost.sinceMs >= recordedMs) lost = { sinceMs: nowMs, count: 0 };
    lost.count += count;
  };
  const remove = (key: string, { shape: { caller } }: Counted): void => {
    shapes.delete(key);
    const left = (clients.get(caller.client) ?? 1) - 1;
    if (left === 0) clients.delete(caller.client);
    else clients.set(caller.client, left);
  };
  const dropOld = (nowMs: number): void => {
    for (const [key, counted] of shapes) {
      if (nowMs - counted.firstMs < recordedMs) return;
      remove(key, counted);
    }
  };
  const makeSpace = (client: string, nowMs: number): void => {
    const isOwn = (clients.get(client) ?? 0) >= clientShapesMax;
    if (!isOwn && shapes.size < shapesMax) return;
    const oldest = shapes.entries().find(([, { shape }]) => !isOwn || shape.caller.client === client);
    if (oldest === undefined) return;
    remove(...oldest);
    lose(oldest[1].count, nowMs);
  };
  const count = (shape: QueryShape, nowMs: number): void => {
    const key = JSON.stringify(shape);
    const known = shapes.get(key);
    if (known !== undefined && nowMs - known.firstMs < recordedMs) {
      known.count += 1;
      return;
    }
    dropOld(nowMs);
    if (Buffer.byteLength(key) > shapeBytesMax) {
      lose(1, nowMs);
      return;
    }
    const { client } = shape.caller;
    makeSpace(client, nowMs);
    shapes.set(key, { shape, firstMs: nowMs, count: 1 });
    clients.set(client, (clients.get(client) ?? 0) + 1);
  };
  return {
    add(asked, context) {
      const shape = knownShape(asked, context);
      if (shape !== undefined) count(shape, now());
    },
    read() {
      const nowMs = now();
      dropOld(nowMs);
      lose(0, nowMs);
      const kept = [...shapes.values()].map(({ shape, count: own }) => ({ shape, count: own }));
      const seen = kept.reduce((sum, { count: own }) => sum + own, lost.count);
      return { form: 1, sinceMs: Math.max(startMs, nowMs - recordedMs), seen, shapes: kept };
    },
  };
}

function knownShape(asked: AskedQuery, context: QueryContext): QueryShape | undefined {
  try {
    return shapeOf(asked, context);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

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
