import { createByteBudget } from "../../stores/limits/fan-out.ts";
import type { PrometheusClient } from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import type { Store } from "../../stores/store.ts";
import { staleLifetimes } from "./extents.ts";
import type { RangeRead } from "./range-read.ts";

interface WantedInstant {
  /** Identity of the store with its current configuration. */
  readonly identity: string;
  readonly query: string;
  readonly timeMs: number;
  readonly call: StoreCall;
  /** The time before which the store is settled. */
  readonly settledUntilMs: number;
}

interface InstantSource {
  readonly now: PrometheusClient;
  /** For background refreshes, which continue after the response. */
  readonly later: Store;
}

/** Reads the value of an instant query through the cache. The value has the lifetime of a point of its time. */
export async function readInstantValue(
  wanted: WantedInstant,
  { now, later }: InstantSource,
  reading: RangeRead,
): Promise<number | undefined> {
  const { identity, query, timeMs, call, settledUntilMs } = wanted;
  const { cache, lifetimes, nowMs } = reading;
  const key = JSON.stringify([identity, call.tenant ?? null, query, timeMs]);
  const lifetime = timeMs < settledUntilMs ? "settledMs" : "tailMs";
  const cached = cache.instantValues.find(key, nowMs - staleLifetimes(lifetimes)[lifetime]);
  const read = (client: PrometheusClient, signal: AbortSignal): Promise<number | undefined> =>
    cache.singleFlight(
      `instant ${key}`,
      async (ending) => {
        const value = await client.single(query, timeMs, { ...call, signal: ending, bytes: createByteBudget() });
        cache.instantValues.set(key, { value, readAtMs: nowMs });
        return value;
      },
      signal,
    );
  if (cached === undefined) return read(now, call.signal);
  if (nowMs - cached.readAtMs >= lifetimes[lifetime])
    cache.refreshes.begin(`instant ${key}`, identity, (signal) => later.run(() => read(later.client, signal)));
  return cached.value;
}
