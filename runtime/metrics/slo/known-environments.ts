import { BoundedMap, createSingleFlight } from "../../../limits/bounded-map.ts";
import { createByteBudget } from "../../stores/limits/fan-out.ts";
import type { Stores } from "../../stores/store.ts";
import { makePlan, type PlannedPart, storeLabel } from "../planning/plan.ts";
import { printVector, type Vector } from "../promql/promql.ts";
import type { SloPlan } from "./read-slo.ts";

/** Times after which a store is read again: after a result, and after a failure. */
const [refreshMs, failedMs] = [300_000, 10_000];
/** An environment is forgotten after this time. */
const seenMs = 86_400_000;
/** The range in which a store searches for series. */
const rangeMs = 3_600_000;
/** Most environments of one metric, tenant and store. */
const environmentsMax = 256;
const entriesMax = 2_048;
/** Most bytes of one store response. */
const bytesMax = 1024 * 1024;

/** The environments of stores, so that a request with an unknown environment reads no store. */
export interface KnownEnvironments {
  /** Removes the stores from a plan that have none of its environments. Never rejects. */
  narrow(plan: SloPlan, stores: Stores, nowMs: number): Promise<SloPlan>;
}

interface Known {
  readonly readAtMs: number;
  readonly failed: boolean;
  /** Unix milliseconds of the last read that returned each environment. */
  readonly seen: ReadonlyMap<string, number>;
}

const nothing: Known = { readAtMs: Number.NEGATIVE_INFINITY, failed: false, seen: new Map() };

/** Creates an empty set of known environments. @param timeoutMs bound on one read of a store */
export function createKnownEnvironments(timeoutMs: number): KnownEnvironments {
  const entries = new BoundedMap<string, Known>(entriesMax);
  const once = createSingleFlight<Known>();
  const find = (part: PlannedPart, stores: Stores, nowMs: number): Promise<Known> => {
    const { store, metric, tenant } = part;
    const key = JSON.stringify([
      stores.get(store.key).identity,
      metric.entry.metric.id,
      metric.entry.metric.source,
      tenant ?? null,
      part.newest,
    ]);
    const before = entries.get(key) ?? nothing;
    if (nowMs - before.readAtMs < (before.failed ? failedMs : refreshMs)) return Promise.resolve(before);
    return once(key, async () => {
      const known = await read(part, stores, { before, nowMs, timeoutMs });
      entries.set(key, known);
      return known;
    });
  };
  return {
    async narrow(plan, stores, nowMs) {
      const { environments } = plan.view.grant;
      if (environments === "every") return plan;
      const isNeeded = async (part: PlannedPart): Promise<boolean> => {
        if (part.imposed.environment !== undefined || part.newest.kind !== "timestamp") return true;
        const { seen, failed } = await find(part, stores, nowMs);
        // A failing store may have the environment.
        return (failed && seen.size === 0) || [...environments].some((name) => seen.has(name));
      };
      const parts = everywhere(plan);
      const needed = await Promise.all(parts.map(isNeeded));
      const left = new Set(parts.flatMap(({ store: { key } }, index) => (needed[index] === true ? [key] : [])));
      return {
        ...plan,
        plans: plan.plans.map((own) => ({ ...own, parts: own.parts.filter((part) => left.has(part.store.key)) })),
      };
    },
  };
}

/** The parts of a plan over all environments, each with the query of its newest sample. */
function everywhere({ plans: [shortest] }: SloPlan): readonly PlannedPart[] {
  if (shortest === undefined) return [];
  const { query } = shortest;
  return makePlan({ ...query, environments: "every" }, query.window.toMs).parts;
}

interface ReadContext {
  readonly before: Known;
  readonly nowMs: number;
  readonly timeoutMs: number;
}

async function read(
  { store: { key, config }, tenant, newest }: PlannedPart,
  stores: Stores,
  { before, nowMs, timeoutMs }: ReadContext,
): Promise<Known> {
  if (newest.kind !== "timestamp") return before;
  const store = stores.get(key);
  const label = storeLabel(config, "environment");
  const vector: Vector = {
    kind: "aggregate",
    op: "max",
    by: [label],
    of: { kind: "over", fn: "count_over_time", of: newest.of, rangeMs },
  };
  const recent = [...before.seen].filter(([, atMs]) => nowMs - atMs < seenMs);
  try {
    const call = { signal: AbortSignal.timeout(timeoutMs), tenant, bytes: createByteBudget(bytesMax) };
    const samples = await store.run(() => store.client.vector(printVector(vector, "LeftOpen"), nowMs, call));
    const found = samples.map(({ labels }) => [labels[label] ?? "", nowMs] as const);
    return { readAtMs: nowMs, failed: false, seen: new Map([...recent, ...found].slice(-environmentsMax)) };
  } catch {
    return { readAtMs: nowMs, failed: true, seen: new Map(recent) };
  }
}
