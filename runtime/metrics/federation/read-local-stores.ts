import { ApiError, invalidField } from "../../errors/api-error.ts";
import { createByteBudget, fanOut, type FanOutOptions } from "../../stores/limits/fan-out.ts";
import { gravest, type WarningClass } from "../../stores/prometheus/matrix.ts";
import type { RangeBoundary } from "../../stores/prometheus/probe-store.ts";
import type { PrometheusClient } from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import type { StoreError } from "../../stores/store-error.ts";
import type { Stores } from "../../stores/store.ts";
import type { Plan, PlannedPart } from "../planning/plan.ts";
import { type PartOutcome, requireNeeds } from "../reads/read-part.ts";
import { retryAfterOf } from "../reads/region-status.ts";

/** One own store during a read. */
export interface OwnStore {
  readonly part: PlannedPart;
  readonly client: PrometheusClient;
  readonly boundary: RangeBoundary;
  readonly call: StoreCall;
}

interface OwnReadOptions extends FanOutOptions {
  readonly stores: Stores;
  /** Receives the outcome of each store. */
  readonly observe: (outcomes: readonly PartOutcome<unknown>[]) => void;
}

/** The results of the stores, in their order. */
interface LocalResults<Result> {
  readonly results: readonly { readonly part: PlannedPart; readonly result: Result }[];
  /** `incomplete` when a store is missing, else the gravest of the stores' warnings. */
  readonly warning: WarningClass;
}

/**
 * Reads every own store of a plan once, under one deadline. It caches nothing: the asking runtime does, and a point in
 * two caches could get twice as old as allowed.
 *
 * @throws ApiError when every store failed; the signal's reason
 */
export async function readOwnStores<Result extends { readonly warning: WarningClass }>(
  { parts }: Plan,
  read: (store: OwnStore) => Promise<Result>,
  { stores, observe, ...options }: OwnReadOptions,
): Promise<LocalResults<Result>> {
  const bytes = createByteBudget();
  const run = (part: PlannedPart, signal: AbortSignal): Promise<Result> => {
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
  const jobs = { jobs: parts, storeOf: ({ store }: PlannedPart) => store.key, run };
  const outcomes = (await fanOut(jobs, options)).flatMap((outcome, index) => {
    const part = parts[index];
    return part === undefined ? [] : [{ part, outcome }];
  });
  observe(outcomes);
  const results = outcomes.flatMap(({ part, outcome }) => (outcome.ok ? [{ part, result: outcome.value }] : []));
  const errors = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error]));
  requireSome(results.length, errors);
  return { results, warning: errors.length > 0 ? "incomplete" : gravest(results.map(({ result }) => result.warning)) };
}

function requireSome(responded: number, errors: readonly StoreError[]): void {
  const cause = new AggregateError(errors, "own stores failed");
  if (errors.some(({ kind }) => kind === "too_large")) {
    throw new ApiError(
      "result_too_large",
      "the stores of this region have more data than one request may read; filter more or request fewer points",
      { cause },
    );
  }
  if (responded > 0) return;
  if (errors.every(({ kind }) => kind === "unsupported")) {
    throw invalidField(
      "invalid_aggregation",
      "ask.part",
      "the stores of this region cannot compute this part exactly; use a different aggregation",
    );
  }
  const isLate = errors.every(({ kind }) => kind === "late");
  throw new ApiError(isLate ? "store_timeout" : "store_failed", "all stores of this region failed; retry later", {
    retryAfterSeconds: retryAfterOf(errors),
    cause,
  });
}
