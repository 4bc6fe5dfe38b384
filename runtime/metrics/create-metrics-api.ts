import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { RuntimeConfig } from "../../crds/config.ts";
import { createByteBudget } from "../stores/byte-budget.ts";
import { createStoreSet, type StoreSet } from "../stores/store-set.ts";
import { instantAnswer, queryAnswer } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { catalogAnswer } from "./catalog.ts";
import { indexCatalogs, storeKey } from "./catalog-index.ts";
import { healthAnswer } from "./health.ts";
import { createInstruments, type MeasuredRoute } from "./instruments.ts";
import { measured } from "./measured.ts";
import type { MetricsAnswer, MetricsApi, Parameters, RequestContext } from "./metrics-api.ts";
import { makePlan } from "./plan.ts";
import { makeInstant, makeQuery, type World } from "./query.ts";
import type { PartOutcome } from "./read-stores.ts";
import { createRequestLog } from "./request-log.ts";
import { runPlan } from "./result.ts";

/** What the metrics API is made with. */
export interface MetricsApiOptions {
  readonly config: RuntimeConfig;
  readonly log: Pick<Logger, "warn">;
  /** Where the API counts itself. @default nowhere */
  readonly registry?: Registry;
  /** Unix milliseconds, for probes and the health view. @default Date.now */
  readonly now?: () => number;
  /**
   * Bound on all stores of one query together, in milliseconds. Below the 2 s that clients are told to wait (seed
   * "Operational Metrics API" §8), so that they see the partial answer. @default 1800
   */
  readonly deadlineMs?: number;
}

const deadlineMsDefault = 1_800;

const routes = {
  query: { make: makeQuery, answer: queryAnswer },
  instant: { make: makeInstant, answer: instantAnswer },
} as const satisfies Readonly<Record<MeasuredRoute, object>>;

/** Makes the API and begins to probe the stores; connections are kept until `stop`. */
export function createMetricsApi(options: MetricsApiOptions): MetricsApi {
  const { log, now = Date.now, deadlineMs = deadlineMsDefault } = options;
  const stores = createStoreSet(now);
  const requests = createRequestLog(now);
  const instruments = createInstruments(options.registry);
  let world: World = { catalog: new Map(), quotas: options.config };

  const apply = (config: RuntimeConfig): void => {
    world = { catalog: indexCatalogs(config.catalogs), quotas: config };
    stores.apply(storesOf(config), config.material);
    probeAll(stores);
  };

  const answer =
    (route: MeasuredRoute) =>
    (params: Parameters, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<MetricsAnswer> =>
      measured({ route, signal, requests, instruments }, async () => {
        const plan = makePlan(routes[route].make(params, caller, world, context.nowMs), context.nowMs);
        instruments.planned(plan);
        const observe = (outcomes: readonly PartOutcome[]): void => {
          instruments.asked(outcomes);
          logFailures(log, outcomes, context.correlationId);
        };
        const bytes = createByteBudget();
        const result = await runPlan(plan, stores, { deadlineMs, signal, bytes, nowMs: context.nowMs, observe });
        return routes[route].answer(plan, result, context.correlationId);
      });

  apply(options.config);
  return {
    query: answer("query"),
    instant: answer("instant"),
    catalog: (params, caller, { correlationId }) => catalogAnswer(params, caller, world, correlationId),
    health() {
      probeAll(stores);
      return healthAnswer({ figures: requests.figures(), stores: stores.list(), catalog: world.catalog });
    },
    apply,
    stop: () => stores.stop(),
  };
}

function storesOf({ catalogs }: RuntimeConfig): ReadonlyMap<string, RuntimeConfig["catalogs"][number]["stores"][number]> {
  return new Map(catalogs.flatMap((catalog) => catalog.stores.map((store) => [storeKey(catalog, store), store] as const)));
}

/**
 * In the background, and only where an earlier probe has aged: what is found shows in the state of the store. One that wants
 * a tenant for everything is probed with the first query's.
 */
function probeAll(stores: StoreSet): void {
  for (const [, store] of stores.list()) {
    if (store.config.tenancy !== "StoreHeader") store.capabilities().catch(() => undefined);
  }
}

function logFailures(log: Pick<Logger, "warn">, outcomes: readonly PartOutcome[], correlationId: string): void {
  for (const { part, outcome } of outcomes) {
    if (outcome.ok) continue;
    const { held, metric } = part;
    const ids = { correlationId, store: held.key, region: held.store.region, metric: metric.entry.metric.id };
    log.warn({ ...ids, outcome: outcome.error.kind, reason: outcome.error.message }, "store read failed");
  }
}
