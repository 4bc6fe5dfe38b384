import type { Store } from "../stores/store.ts";
import type { StoreSet } from "../stores/store-set.ts";
import { fanOut, type FanOutOptions, type Outcome } from "../stores/fan-out.ts";
import type { StoreExemplar } from "../stores/prometheus-client.ts";
import { StoreError } from "../stores/store-error.ts";
import type { PartAnswer } from "./merge.ts";
import type { PlannedPart, Plan } from "./plan.ts";
import { printSelector, printVector } from "./promql.ts";

/** What one store answered for one metric, and of when. */
export interface StoreAnswer extends PartAnswer {
  /** When the newest sample at the end of the window was taken; undefined: not asked, or the store saw none recently. */
  readonly newestMs: number | undefined;
  /** The store says that its own data is incomplete. */
  readonly incomplete: boolean;
  readonly exemplars: readonly StoreExemplar[];
}

/** How one part of a plan ended. */
export interface PartOutcome {
  readonly part: PlannedPart;
  readonly outcome: Outcome<StoreAnswer>;
}

/**
 * Asks every store of a plan at once. A part is whole or it failed: one statistic without the other would answer
 * wrongly.
 *
 * @throws the signal's reason when the caller leaves
 */
export async function readStores(
  plan: Plan,
  stores: StoreSet,
  options: FanOutOptions,
): Promise<readonly PartOutcome[]> {
  const read = (part: PlannedPart, signal: AbortSignal): Promise<StoreAnswer> =>
    readPart(plan, part, stores.get(part.held.key), signal);
  const outcomes = await fanOut(plan.parts, read, options);
  return plan.parts.flatMap((part, index) => {
    const outcome = outcomes[index];
    return outcome === undefined ? [] : [{ part, outcome }];
  });
}

async function readPart(plan: Plan, part: PlannedPart, store: Store, signal: AbortSignal): Promise<StoreAnswer> {
  try {
    const answer = await askStore(plan, part, store, signal);
    store.note("ok");
    return answer;
  } catch (error) {
    if (error instanceof StoreError && isStoresFault(error)) store.note("failing");
    throw error;
  }
}

async function askStore(plan: Plan, part: PlannedPart, store: Store, signal: AbortSignal): Promise<StoreAnswer> {
  const { boundary, anchored } = await store.capabilities();
  if (part.metric.recipe.anchored && !anchored) {
    throw new StoreError("unsupported", "the store does not know anchored ranges");
  }
  const [newestSeconds, exemplars, ...ranges] = await Promise.all([
    part.newest && store.client.single(printVector(part.newest, boundary), plan.query.window.toMs, signal),
    askExemplars(plan, part, store, signal),
    ...part.ranges.map((range) => store.client.range(printVector(range, boundary), plan.grid, signal)),
  ]);
  return {
    part,
    ranges: ranges.map(({ series }) => series),
    newestMs: newestSeconds === undefined ? undefined : newestSeconds * 1_000,
    incomplete: ranges.some(({ incomplete }) => incomplete),
    exemplars,
  };
}

/** Exemplars are an extra: a store without that API has none. */
async function askExemplars(
  plan: Plan,
  { exemplars }: PlannedPart,
  { client }: Store,
  signal: AbortSignal,
): Promise<readonly StoreExemplar[]> {
  if (exemplars === undefined) return [];
  try {
    const { fromMs, toMs } = plan.query.window;
    return await client.exemplars(printSelector(exemplars), fromMs, toMs, signal);
  } catch (error) {
    if (error instanceof StoreError && (error.kind === "status" || error.kind === "refused")) return [];
    throw error;
  }
}

/** A query that a store refuses, or an answer that is too large, says nothing about the store's health. */
function isStoresFault({ kind }: StoreError): boolean {
  return kind !== "refused" && kind !== "too_large" && kind !== "unsupported";
}
