import { traceparentOf } from "../tracing/trace-context.ts";
import type { StartedSpan } from "../tracing/tracer.ts";
import { createByteBudget, type ReadDeadline, startReadDeadline } from "./limits/fan-out.ts";
import type { PrometheusClient } from "./prometheus/prometheus-client.ts";
import type { CallOrigin, StoreCall } from "./prometheus/store-http.ts";
import { StoreError } from "./store-error.ts";
import { type Stores, withClients } from "./store.ts";

/** One read of one store. */
export interface StoreRead {
  /** Key of the store. */
  readonly store: string;
  /** The endpoint of the store below `/api/v1/`. */
  readonly api: "query_range" | "query" | "query_exemplars";
  /** The method of the client. It decides how the response is decoded. */
  readonly as: keyof PrometheusClient;
  readonly promql: string;
  /** The grid or the times, which the response depends on too. */
  readonly over: unknown;
  readonly tenant: string | undefined;
}

/**
 * Wraps a read. It sends the read at once or not at all, for the call of the read or for another call.
 *
 * @param send sends the read. @default its own call
 * @param own the call of the read
 */
export type AroundRead = <Result>(
  read: StoreRead,
  send: (call?: StoreCall) => Promise<Result>,
  own: StoreCall,
) => Promise<Result>;

/** Wraps the reads of stores. */
export type StoreMiddleware = (stores: Stores) => Stores;

/** Wraps every read of the stores with one function. */
export function aroundReads(stores: Stores, around: AroundRead): Stores {
  return withClients(stores, (key, { client }) => aroundClient(key, client, around));
}

function aroundClient(store: string, client: PrometheusClient, around: AroundRead): PrometheusClient {
  const through = <Result>(
    read: Omit<StoreRead, "store" | "tenant">,
    own: StoreCall,
    send: (call: StoreCall) => Promise<Result>,
  ): Promise<Result> => around({ store, ...read, tenant: own.tenant }, (call = own) => send(call), own);
  return {
    range: (promql, over, own) =>
      through({ api: "query_range", as: "range", promql, over }, own, (call) => client.range(promql, over, call)),
    histograms: (promql, over, own) =>
      through({ api: "query_range", as: "histograms", promql, over }, own, (call) =>
        client.histograms(promql, over, call),
      ),
    vector: (promql, over, own) =>
      through({ api: "query", as: "vector", promql, over }, own, (call) => client.vector(promql, over, call)),
    single: (promql, over, own) =>
      through({ api: "query", as: "single", promql, over }, own, (call) => client.single(promql, over, call)),
    exemplars: (promql, fromMs, toMs, own) =>
      through({ api: "query_exemplars", as: "exemplars", promql, over: [fromMs, toMs] }, own, (call) =>
        client.exemplars(promql, fromMs, toMs, call),
      ),
  };
}

interface MemoOptions {
  /** Aborts every request. A signal of one query does not, because other queries can wait for the same read. */
  readonly signal: AbortSignal;
  /** As in {@link StoreCall}. @default `signal` */
  readonly sentSignal: AbortSignal | undefined;
  /** Most bytes of all responses to all queries together. */
  readonly bytesMax: number;
  readonly origin: CallOrigin;
}

/** Reads that several queries share. */
export interface ReadMemo {
  /** Sends a read unless an equal one was sent before. */
  readonly share: StoreMiddleware;
  /** The number of reads of all queries, and of those that were sent. */
  counts(): { readonly wanted: number; readonly sent: number };
}

/**
 * Sends equal reads of several queries once and returns one result to all of them, also after the read has ended. No
 * query may change a result.
 */
function memoizeReads({ signal, sentSignal, bytesMax, origin }: MemoOptions): ReadMemo {
  const reads = new Map<string, Promise<unknown>>();
  const bytes = createByteBudget(bytesMax);
  let wanted = 0;
  const around: AroundRead = <Result>(read: StoreRead, send: (call?: StoreCall) => Promise<Result>) => {
    wanted += 1;
    const key = JSON.stringify(read);
    // Equal reads have equal results, also in type.
    const result =
      (reads.get(key) as Promise<Result> | undefined) ??
      send({ signal, sentSignal, tenant: read.tenant, bytes, origin });
    reads.set(key, result);
    return result;
  };
  return { share: (stores) => aroundReads(stores, around), counts: () => ({ wanted, sent: reads.size }) };
}

interface Sharing {
  /** Aborts every request. @default only the deadline does */
  readonly signal?: AbortSignal;
  /** As in {@link StoreCall}. @default `signal` and the deadline */
  readonly sentSignal?: AbortSignal;
  /** Bound on all reads together. */
  readonly deadlineMs: number;
  /** Most bytes of all responses together. */
  readonly bytesMax: number;
  readonly context: Pick<CallOrigin, "correlationId">;
}

/** Runs reads with one deadline. Equal ones are sent once. */
export async function shareReads<Result>(
  { signal, sentSignal, deadlineMs, bytesMax, context: { correlationId } }: Sharing,
  run: (memo: ReadMemo, deadline: ReadDeadline) => Promise<Result>,
): Promise<Result> {
  const deadline = startReadDeadline(deadlineMs);
  const origin = { correlationId, endsAtMs: performance.now() + deadlineMs };
  const either = signal === undefined ? deadline.signal : AbortSignal.any([signal, deadline.signal]);
  try {
    return await run(memoizeReads({ signal: either, sentSignal, bytesMax, origin }), deadline);
  } finally {
    deadline.end();
  }
}

/** Puts a span below `parent` around every read, and names it to the store. @param parent undefined: no spans */
export function tracedReads(stores: Stores, parent: StartedSpan | undefined): Stores {
  return parent?.context.isSampled === true ? aroundReads(stores, spanAround(stores, parent)) : stores;
}

function spanAround(stores: Stores, parent: StartedSpan): AroundRead {
  return async (read, send, own) => {
    const span = parent.child("store", "client");
    const { region } = stores.get(read.store).config;
    const attributes = { "heliograph.store": read.store, "heliograph.region": region, "heliograph.api": read.api };
    try {
      const result = await send({ ...own, traceparent: traceparentOf(span.context) });
      span.end(attributes);
      return result;
    } catch (error) {
      span.end(attributes, error instanceof StoreError ? error.kind : "aborted");
      throw error;
    }
  };
}
