import { createByteBudget } from "../../stores/byte-budget.ts";
import type { PrometheusClient } from "../../stores/prometheus-client.ts";
import type { StoreCall } from "../../stores/store-http.ts";
import type { Reading } from "./read-through.ts";

/** One number that is wanted. */
export interface Moment {
  /** Of the store as it is configured now. */
  readonly identity: string;
  readonly query: string;
  readonly timeMs: number;
  readonly call: StoreCall;
}

/** One number at one time, which may change as the tail of a window may. */
export async function readMoment({ identity, query, timeMs, call }: Moment, client: PrometheusClient, reading: Reading): Promise<number | undefined> {
  const { cache, lifetimes, nowMs } = reading;
  const key = JSON.stringify([identity, call.tenant ?? null, query, timeMs]);
  const known = cache.moments.find(key, nowMs - lifetimes.tailMs);
  if (known !== undefined) return known.value;
  return cache.flights(`moment ${key}`, call.signal, async (signal) => {
    const value = await client.single(query, timeMs, { ...call, signal, bytes: createByteBudget() });
    cache.moments.keep(key, { value, readAtMs: nowMs });
    return value;
  });
}
