import { createByteBudget } from "../../stores/limits/byte-budget.ts";
import type { PrometheusClient } from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import type { Store } from "../../stores/store.ts";
import { staleLifetimes } from "./extents.ts";
import type { RangeRead } from "./range-read.ts";

/** One number that is wanted. */
interface WantedInstant {
  /** Of the store as it is configured now. */
  readonly identity: string;
  readonly query: string;
  readonly timeMs: number;
  readonly call: StoreCall;
}

/** Whom a moment is asked of. */
interface InstantSource {
  readonly now: PrometheusClient;
  /** For reads that go on when the query is answered. */
  readonly later: Store;
}

/** One number at one time, which may change as the tail of a window may. */
export async function readInstantValue(
  wanted: WantedInstant,
  { now, later }: InstantSource,
  reading: RangeRead,
): Promise<number | undefined> {
  const { identity, query, timeMs, call } = wanted;
  const { cache, lifetimes, nowMs } = reading;
  const key = JSON.stringify([identity, call.tenant ?? null, query, timeMs]);
  const known = cache.instantValues.find(key, nowMs - staleLifetimes(lifetimes).tailMs);
  const read = (client: PrometheusClient, signal: AbortSignal): Promise<number | undefined> =>
    cache.flights(
      `moment ${key}`,
      async (ending) => {
        const value = await client.single(query, timeMs, { ...call, signal: ending, bytes: createByteBudget() });
        cache.instantValues.keep(key, { value, readAtMs: nowMs });
        return value;
      },
      signal,
    );
  if (known === undefined) return read(now, call.signal);
  if (nowMs - known.readAtMs >= lifetimes.tailMs)
    cache.refreshes.begin(`moment ${key}`, (signal) => later.run(() => read(later.client, signal)));
  return known.value;
}
