import { createByteBudget } from "../../stores/limits/byte-budget.ts";
import { fanOut, type FanOutOptions } from "../../stores/limits/fan-out.ts";
import type { RangeBoundary } from "../../stores/prometheus/probe.ts";
import type { PrometheusClient } from "../../stores/prometheus/prometheus-client.ts";
import type { StoreError } from "../../stores/store-error.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import type { Stores } from "../../stores/store-set.ts";
import { gravest, type WarningClass } from "../../stores/prometheus/warnings.ts";
import { Refusal, refuseField } from "../../errors/refusal.ts";
import type { PlannedPart, Plan } from "../planning/plan.ts";
import { requireNeeds } from "../execution/read-part.ts";
import type { PartOutcome } from "../execution/read-stores.ts";
import { retryAfterSeconds } from "../execution/region-status.ts";

/** One own store that is read. */
export interface OwnStore {
  readonly part: PlannedPart;
  readonly client: PrometheusClient;
  readonly boundary: RangeBoundary;
  readonly call: StoreCall;
}

interface OwnReadOptions extends FanOutOptions {
  readonly stores: Stores;
  /** Told how each store ended. */
  readonly observe: (outcomes: readonly PartOutcome<unknown>[]) => void;
}

/** What the stores answered, in their order. */
interface LocalResults<Answer> {
  readonly answers: readonly { readonly part: PlannedPart; readonly answer: Answer }[];
  /** `incomplete` when a store is missing, else the gravest of the stores' own. */
  readonly warning: WarningClass;
}

/**
 * Reads every own store of a plan once, under one deadline. Nothing is kept: who asks does that, and a point that is
 * kept twice would be twice as old as it may be.
 *
 * @throws Refusal when no store answered; the signal's reason
 */
export async function readOwnStores<Answer extends { readonly warning: WarningClass }>(
  { parts }: Plan,
  read: (store: OwnStore) => Promise<Answer>,
  { stores, observe, ...options }: OwnReadOptions,
): Promise<LocalResults<Answer>> {
  const bytes = createByteBudget();
  const run = (part: PlannedPart, signal: AbortSignal): Promise<Answer> => {
    const store = stores.get(part.store.key);
    return store.run(async () => {
      const capabilities = await store.capabilities(part.tenant);
      requireNeeds(part.metric.recipe.needs, capabilities);
      return read({
        part,
        client: store.client,
        boundary: capabilities.boundary,
        call: { signal, tenant: part.tenant, bytes },
      });
    });
  };
  const outcomes = (await fanOut(parts, run, options)).flatMap((outcome, index) => {
    const part = parts[index];
    return part === undefined ? [] : [{ part, outcome }];
  });
  observe(outcomes);
  const answers = outcomes.flatMap(({ part, outcome }) => (outcome.ok ? [{ part, answer: outcome.value }] : []));
  const errors = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error]));
  requireSome(answers.length, errors);
  return { answers, warning: errors.length > 0 ? "incomplete" : gravest(answers.map(({ answer }) => answer.warning)) };
}

function requireSome(answered: number, errors: readonly StoreError[]): void {
  const cause = new AggregateError(errors, "own stores failed");
  if (errors.some(({ kind }) => kind === "too_large"))
    throw new Refusal("result_too_large", "the stores here have more than one question may read", { cause });
  if (answered > 0) return;
  if (errors.every(({ kind }) => kind === "unsupported"))
    throw refuseField("invalid_aggregation", "ask.part", "the stores here cannot answer this exactly");
  const isLate = errors.every(({ kind }) => kind === "late");
  throw new Refusal(isLate ? "store_timeout" : "store_failed", "no store of the region answered", {
    retryAfterSeconds,
    cause,
  });
}
