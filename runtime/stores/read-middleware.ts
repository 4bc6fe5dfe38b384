import { createByteBudget } from "./limits/byte-budget.ts";
import type { PrometheusClient } from "./prometheus/prometheus-client.ts";
import type { CallOrigin, StoreCall } from "./prometheus/store-http.ts";
import type { StoreSet } from "./store-set.ts";

/** One request to one store, told before it is sent. */
export interface StoreRead {
  /** Key of the store. */
  readonly store: string;
  /** The store's endpoint below `/api/v1/`. */
  readonly api: "query_range" | "query" | "query_exemplars";
  /** What the answer is decoded as. */
  readonly as: keyof PrometheusClient;
  readonly promql: string;
  /** Everything else that the answer depends on: grid or times. */
  readonly over: unknown;
  readonly tenant: string | undefined;
}

/**
 * What is done around a read: it is sent now or never, on behalf of its own call or of another.
 *
 * @param send without a call, the read's own
 */
export type AroundRead = <Answer>(read: StoreRead, send: (call?: StoreCall) => Promise<Answer>) => Promise<Answer>;

/** The same stores with something done around every read. */
export function aroundReads(stores: StoreSet, around: AroundRead): StoreSet {
  return {
    ...stores,
    get(key) {
      const store = stores.get(key);
      return { ...store, client: aroundClient(key, store.client, around) };
    },
  };
}

function aroundClient(store: string, client: PrometheusClient, around: AroundRead): PrometheusClient {
  const read =
    (as: StoreRead["as"], api: StoreRead["api"]) =>
    (promql: string, over: unknown, { tenant }: StoreCall) =>
      ({ store, api, as, promql, over, tenant }) satisfies StoreRead;
  const [range, histograms] = [read("range", "query_range"), read("histograms", "query_range")];
  const [vector, single, exemplars] = [
    read("vector", "query"),
    read("single", "query"),
    read("exemplars", "query_exemplars"),
  ];
  return {
    range: (promql, grid, call) =>
      around(range(promql, grid, call), (other = call) => client.range(promql, grid, other)),
    histograms: (promql, grid, call) =>
      around(histograms(promql, grid, call), (other = call) => client.histograms(promql, grid, other)),
    vector: (promql, timeMs, call) =>
      around(vector(promql, timeMs, call), (other = call) => client.vector(promql, timeMs, other)),
    single: (promql, timeMs, call) =>
      around(single(promql, timeMs, call), (other = call) => client.single(promql, timeMs, other)),
    exemplars: (promql, fromMs, toMs, call) =>
      around(exemplars(promql, [fromMs, toMs], call), (other = call) => client.exemplars(promql, fromMs, toMs, other)),
  };
}

interface SharedReadOptions {
  /** Ends every request; those of the single queries do not, since others may wait for the same answer. */
  readonly signal: AbortSignal;
  /** What all stores together may answer to all queries together. */
  readonly bytesMax: number;
  readonly origin: CallOrigin;
}

/** Stores that are asked the same thing only once, and how often that saved a request. */
export interface SharedReads {
  readonly stores: StoreSet;
  /** Reads that were wanted, and reads that were sent. */
  counts(): { readonly wanted: number; readonly sent: number };
}

/**
 * Lets several queries share their reads: equal reads are one request, whose answer all of them get. None of them may
 * change it.
 */
export function shareReads(stores: StoreSet, { signal, bytesMax, origin }: SharedReadOptions): SharedReads {
  const flights = new Map<string, Promise<unknown>>();
  const bytes = createByteBudget(bytesMax);
  let wanted = 0;
  const around: AroundRead = <Answer>(read: StoreRead, send: (call?: StoreCall) => Promise<Answer>) => {
    wanted += 1;
    const key = JSON.stringify(read);
    // Equal reads answer alike, also in type.
    const flight =
      (flights.get(key) as Promise<Answer> | undefined) ?? send({ signal, tenant: read.tenant, bytes, origin });
    flights.set(key, flight);
    return flight;
  };
  return { stores: aroundReads(stores, around), counts: () => ({ wanted, sent: flights.size }) };
}
