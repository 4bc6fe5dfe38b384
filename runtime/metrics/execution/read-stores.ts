import { type ByteBudget, fanOut, type FanOutOptions, type Outcome } from "../../stores/limits/fan-out.ts";
import type { Stores } from "../../stores/store-set.ts";
import type { PlannedPart, Plan } from "../planning/plan.ts";
import { readPart, type PartResult } from "./read-part.ts";

/** The outcome of one part of a plan. */
export interface PartOutcome<Value = PartResult> {
  readonly part: PlannedPart;
  readonly outcome: Outcome<Value>;
}

interface ReadOptions extends FanOutOptions {
  /** Bounds the bytes of all stores together. */
  readonly bytes: ByteBudget;
  /** Of the request. @default the stores receive none */
  readonly correlationId?: string | undefined;
}

/** Reads every part of a plan concurrently. @throws the signal's reason when the caller leaves */
export async function readStores(
  plan: Plan,
  stores: Stores,
  { bytes, correlationId, ...options }: ReadOptions,
): Promise<readonly PartOutcome[]> {
  const origin =
    correlationId === undefined ? undefined : { correlationId, endsAtMs: performance.now() + options.deadlineMs };
  const read = (part: PlannedPart, signal: AbortSignal): Promise<PartResult> =>
    readPart({ plan, part, store: stores.get(part.store.key) }, { signal, bytes, origin });
  const outcomes = await fanOut({ jobs: plan.parts, storeOf: ({ store }) => store.key, run: read }, options);
  return plan.parts.flatMap((part, index) => {
    const outcome = outcomes[index];
    return outcome === undefined ? [] : [{ part, outcome }];
  });
}
