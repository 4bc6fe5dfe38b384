// The effect of an edit on recorded queries, by the rules that queries are rejected and priced by.
import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { ChangedMetric } from "../../../api/catalog.ts";
import type { JudgedQuery, PreviewedQueries, PreviewedShape } from "../../../api/previews.ts";
import type { MetricConfig, RuntimeConfig } from "../../../crds/config.ts";
import { ApiError } from "../../errors/api-error.ts";
import type { Pods } from "../../pods/pods.ts";
import type { Caller } from "../authorization/access.ts";
import { indexCatalogs } from "../catalog-index.ts";
import type { QueryReader } from "../metrics-api.ts";
import { rejectSunset } from "../planning/catalog-entry.ts";
import { makePlan, type Plan } from "../planning/plan.ts";
import { makeInstant, makeQuery, type QueryContext } from "../planning/query.ts";
import { formatTime } from "../request/time.ts";
import { queryLike, type QueryRecord, type QueryShape, type RecordedQueries } from "./query-record.ts";

/** Judges the recorded queries under two configurations, within the rights of a caller. */
type JudgeEdit = (before: RuntimeConfig, after: RuntimeConfig, reader: QueryReader) => Promise<PreviewedQueries>;

interface JudgeSources {
  readonly collect: () => Promise<CollectedQueries>;
  /** The expected cost units of a query. `isBeyondBurst`: its quota never admits it. */
  readonly price: (plan: Plan, caller: Caller) => { readonly estimate: number; readonly isBeyondBurst: boolean };
  readonly now: () => number;
}

type Counted = RecordedQueries["shapes"][number];

/** Shapes of one preview, of all pods; the most frequent ones. */
const judgedMax = 2_000;
/** Shapes of one result. */
export const shownMax = 50;
/** Shapes between two breaks for other requests, about two milliseconds of work. */
const judgedAtOnce = 8;
const every = "*";

/** Creates the judgement. It reads nothing from stores and charges no quota. */
export function createEditJudge({ collect, price, now }: JudgeSources): JudgeEdit {
  return async (before, after, reader) => {
    const { live, replies } = await collect();
    const nowMs = now();
    const contexts = [contextOf(before), contextOf(after)] as const;
    const tally = { judged: 0, refused: 0, allowed: 0, dearer: 0, cheaper: 0 };
    const shapes: PreviewedShape[] = [];
    const definitions = changedDefinitions(contexts[0], contexts[1], reader);
    const affected = affectedQueries(definitions);
    for (const [index, { shape, count }] of merged(replies, reader).entries()) {
      if (index % judgedAtOnce === 0) await setImmediate();
      tally.judged += count;
      const [one, other] = contexts.map((context) => judge(shape, context, price, nowMs)) as [JudgedQuery, JudgedQuery];
      if (one.code === null && other.code === null) affected.add(shape, count);
      const effect = effectOf(one, other);
      if (effect === undefined) continue;
      tally[effect] += count;
      if (shapes.length < shownMax) shapes.push({ effect, count, ...shownShape(shape), before: one, after: other });
    }
    return {
      since: formatTime(Math.max(...replies.map(({ sinceMs }) => sinceMs))),
      pods: { live, answered: replies.length },
      seen: isWhole(reader) ? replies.reduce((sum, { seen }) => sum + seen, 0) : null,
      ...tally,
      shapes,
      ...affected.result(),
    };
  };
}

function contextOf(config: RuntimeConfig): QueryContext {
  return { catalog: indexCatalogs(config.catalogs), quotas: config };
}

type Definition = Omit<ChangedMetric, "queries">;

/** The visible metrics of both configurations whose values mean something else with the edit, by id. */
function changedDefinitions(
  before: QueryContext,
  after: QueryContext,
  reader: QueryReader,
): ReadonlyMap<string, Definition> {
  const found = [...after.catalog].flatMap(([id, { metric, slos }]): readonly (readonly [string, Definition])[] => {
    const old = before.catalog.get(id)?.metric;
    if (old === undefined || !(reader.metrics.includes(every) || reader.metrics.includes(id))) return [];
    const fields = changedFields(old, metric);
    return fields.length === 0 ? [] : [[id, { metric: id, fields, objectives: slos.map(({ name }) => name) }]];
  });
  return new Map(found);
}

function changedFields(before: MetricConfig, after: MetricConfig): readonly string[] {
  const [old, edited] = [before, after].map(({ unit, source }): Readonly<Record<string, unknown>> => {
    return { unit, ...Object.fromEntries(Object.entries(source).map(([name, value]) => [`source.${name}`, value])) };
  });
  const names = Object.keys({ ...old, ...edited });
  return names.filter((name) => !isDeepStrictEqual(old?.[name], edited?.[name])).sort();
}

/** Counts the queries of changed metrics. */
function affectedQueries(definitions: ReadonlyMap<string, Definition>) {
  const uses = new Map<string, number>();
  let all = 0;
  return {
    add({ metrics }: QueryShape, count: number): void {
      const changed = metrics.filter((id) => definitions.has(id));
      if (changed.length > 0) all += count;
      for (const id of changed) uses.set(id, count + (uses.get(id) ?? 0));
    },
    result(): Pick<PreviewedQueries, "other_values" | "changed_metrics"> {
      const counted = [...definitions.values()].map((one) => ({ ...one, queries: uses.get(one.metric) ?? 0 }));
      return { other_values: all, changed_metrics: counted.sort((a, b) => b.queries - a.queries).slice(0, shownMax) };
    },
  };
}

function isWhole({ tenants, metrics }: QueryReader): boolean {
  return tenants.includes(every) && metrics.includes(every);
}

/** The shapes of all pods that the caller may see, the most frequent first. */
function merged(replies: readonly RecordedQueries[], reader: QueryReader): readonly Counted[] {
  const byKey = new Map<string, Counted>();
  for (const { shape, count } of replies.flatMap(({ shapes }) => shapes)) {
    if (!maySee(shape, reader)) continue;
    const key = JSON.stringify(shape);
    byKey.set(key, { shape, count: count + (byKey.get(key)?.count ?? 0) });
  }
  return [...byKey.values()].sort((one, other) => other.count - one.count).slice(0, judgedMax);
}

function maySee({ tenant, metrics }: QueryShape, reader: QueryReader): boolean {
  const hasTenant = reader.tenants.includes(every) || reader.tenants.includes(tenant);
  return hasTenant && (reader.metrics.includes(every) || metrics.every((id) => reader.metrics.includes(id)));
}

function judge(shape: QueryShape, context: QueryContext, price: JudgeSources["price"], nowMs: number): JudgedQuery {
  try {
    const { params, caller } = queryLike(shape, nowMs);
    const query = (shape.route === "query" ? makeQuery : makeInstant)(params, caller, context, nowMs);
    const metrics = query.metrics.map(({ entry }) => entry.metric);
    rejectSunset(metrics, nowMs);
    const { estimate, isBeyondBurst } = price(makePlan(query, nowMs), caller);
    return { class: query.quota.queryClass, cost: estimate, code: isBeyondBurst ? "cost_exceeded" : null };
  } catch (error) {
    if (error instanceof ApiError) return { class: null, cost: null, code: error.code };
    throw error;
  }
}

function effectOf(before: JudgedQuery, after: JudgedQuery): PreviewedShape["effect"] | undefined {
  if (before.code !== null) return after.code === null ? "allowed" : undefined;
  if (after.code !== null) return "refused";
  const [one, other] = [before.cost ?? 0, after.cost ?? 0];
  if (one === other) return undefined;
  return one < other ? "dearer" : "cheaper";
}

function shownShape({ caller, metrics, kept, groupBy, filters, windowSeconds }: QueryShape) {
  return {
    client: caller.client,
    metrics,
    aggregation: kept.agg ?? null,
    group_by: groupBy,
    filters,
    window_seconds: windowSeconds ?? null,
    step: kept.step ?? null,
  };
}

/** The recorded queries of all pods. */
interface CollectedQueries {
  readonly live: number;
  /** One for each pod that answered, this one included. */
  readonly replies: readonly RecordedQueries[];
}

const topic = "recorded-queries";
/** Time of the response of a pod. Another one is not counted. */
const replyMs = 2_000;
const podsMax = 64;

/** Serves the record of this pod to others. The result asks the other live pods, at most 64 of them. */
export function createCollection(record: QueryRecord, pods: Pods): () => Promise<CollectedQueries> {
  pods.serve(topic, () => record.read());
  return async () => {
    const live = pods.live();
    const others = live.filter((pod) => pod !== pods.own);
    const requests = others.slice(0, podsMax).map(async (pod) => {
      const reply = await pods.request(pod, topic, {}, replyMs).catch(() => undefined);
      return isRecord(reply) ? [reply] : [];
    });
    return { live: others.length + 1, replies: [record.read(), ...(await Promise.all(requests)).flat()] };
  };
}

/** A pod of another version may have another form. */
function isRecord(reply: unknown): reply is RecordedQueries {
  const { form, shapes } = (reply ?? {}) as Partial<RecordedQueries>;
  return form === 1 && Array.isArray(shapes);
}
