import { BoundedMap } from "../../bounds/bounded-map.ts";
import { createSingleFlight } from "../../bounds/single-flight.ts";
import { createByteBudget } from "../../stores/limits/byte-budget.ts";
import type { Stores } from "../../stores/store-set.ts";
import { storeLabel } from "../planning/labels.ts";
import { makePlan, type PlannedPart } from "../planning/plan.ts";
import { printVector, type Vector } from "../promql/promql.ts";
import type { SloPlan } from "./read-slo.ts";

/** For how long an answer of a store serves, and for how long a failure does. */
const [askedMs, failedMs] = [300_000, 10_000];
/** For how long an environment that was seen is known. */
const seenMs = 86_400_000;
/** How far back a store looks for series. */
const rangeMs = 3_600_000;
/** Environments of one metric, tenant and store. */
const environmentsMax = 256;
const entriesMax = 2_048;
/** What one store may send. */
const bytesMax = 1024 * 1024;

/** Environments that stores hold, so that made-up ones are answered without them. */
export interface KnownEnvironments {
  /** The same plan, without the stores that are known not to hold what it narrows environments to. Never rejects. */
  narrow(plan: SloPlan, stores: Stores, nowMs: number): Promise<SloPlan>;
}

interface Known {
  readonly askedAtMs: number;
  readonly failed: boolean;
  /** When each was seen last. */
  readonly seen: ReadonlyMap<string, number>;
}

const nothing: Known = { askedAtMs: Number.NEGATIVE_INFINITY, failed: false, seen: new Map() };

/** Nothing is known yet. @param timeoutMs bound on one question to a store */
export function createKnownEnvironments(timeoutMs: number): KnownEnvironments {
  const kept = new BoundedMap<string, Known>(entriesMax);
  const once = createSingleFlight<Known>();
  const look = (part: PlannedPart, stores: Stores, nowMs: number): Promise<Known> => {
    const { store: held, metric, tenant } = part;
    const key = JSON.stringify([
      stores.get(held.key).identity,
      metric.entry.metric.id,
      metric.entry.metric.source,
      tenant ?? null,
      part.newest,
    ]);
    const before = kept.get(key) ?? nothing;
    if (nowMs - before.askedAtMs < (before.failed ? failedMs : askedMs)) return Promise.resolve(before);
    return once(key, async () => {
      const known = await ask(part, stores, { before, nowMs, timeoutMs });
      kept.set(key, known);
      return known;
    });
  };
  return {
    async narrow(plan, stores, nowMs) {
      const { environments } = plan.view.grant;
      if (environments === "every") return plan;
      const isHeld = async (part: PlannedPart): Promise<boolean> => {
        if (part.imposed.environment !== undefined || part.newest?.kind !== "timestamp") return true;
        const { seen, failed } = await look(part, stores, nowMs);
        // A store that fails is not taken for one without the environment.
        return (failed && seen.size === 0) || [...environments].some((name) => seen.has(name));
      };
      const parts = everywhere(plan);
      const held = await Promise.all(parts.map(isHeld));
      const left = new Set(parts.flatMap(({ store: { key } }, index) => (held[index] === true ? [key] : [])));
      return {
        ...plan,
        plans: plan.plans.map((own) => ({ ...own, parts: own.parts.filter((part) => left.has(part.store.key)) })),
      };
    },
  };
}

/** The parts of a plan as if all environments were wanted, each with the series that tell its newest sample. */
function everywhere({ plans: [shortest] }: SloPlan): readonly PlannedPart[] {
  if (shortest === undefined) return [];
  const { query } = shortest;
  return makePlan({ ...query, environments: "every" }, query.window.toMs).parts;
}

interface Asking {
  readonly before: Known;
  readonly nowMs: number;
  readonly timeoutMs: number;
}

async function ask(
  { store: held, tenant, newest }: PlannedPart,
  stores: Stores,
  { before, nowMs, timeoutMs }: Asking,
): Promise<Known> {
  if (newest?.kind !== "timestamp") return before;
  const store = stores.get(held.key);
  const label = storeLabel(held.config, "environment");
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
    return { askedAtMs: nowMs, failed: false, seen: new Map([...recent, ...found].slice(-environmentsMax)) };
  } catch {
    return { askedAtMs: nowMs, failed: true, seen: new Map(recent) };
  }
}
