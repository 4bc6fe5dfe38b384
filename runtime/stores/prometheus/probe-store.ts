import { StoreError } from "../store-error.ts";
import type { IncreaseRule, PrometheusClient } from "./prometheus-client.ts";
import type { StoreCall } from "./store-http.ts";

/** The samples that `m[w]` at t covers: (t − w, t] in Prometheus 3, [t − w, t] in Prometheus 2 and others. */
export type RangeBoundary = "LeftOpen" | "LeftClosed";

/** The capabilities of a store, as probed. */
export interface StoreCapabilities {
  readonly boundary: RangeBoundary;
  readonly increases: IncreaseRule;
  /** True for anchored ranges. Source: Prometheus feature `promql-extended-range-selectors`. */
  readonly anchored: boolean;
  /** True for native histograms. */
  readonly native: boolean;
}

/** Probes end at a whole minute, so that values are at the edges of ranges. */
const minuteMs = 60_000;

/** A range of two seconds over one value per second has two or three values. It needs no data. */
const boundaryProbe = "count_over_time(vector(1)[2s:1s])";
const boundaries: ReadonlyMap<number | undefined, RangeBoundary> = new Map([
  [2, "LeftOpen"],
  [3, "LeftClosed"],
]);
/** Values at 30, 15 and 0 s before the end. The plain increase is 30; extrapolated by half an interval, it is 37.5. */
const increaseProbe = (timeMs: number): string => `increase((vector(time()) > ${timeMs / 1_000 - 40})[60s:15s])`;
const increaseRules: ReadonlyMap<number | undefined, IncreaseRule> = new Map([
  [30, "Plain"],
  [37.5, "Extrapolated"],
]);
/** A store without the feature rejects these queries while it parses them, whatever its data are. */
const anchoredProbe = 'count(increase({__name__="heliograph_probe"}[1m] anchored))';
const nativeProbe = 'count(histogram_count({__name__="heliograph_probe"}))';

/** Probes the capabilities of a store. @throws StoreError; `unsupported` for unknown ranges or increases */
export async function probeStore(client: PrometheusClient, nowMs: number, call: StoreCall): Promise<StoreCapabilities> {
  const timeMs = Math.floor(nowMs / minuteMs) * minuteMs;
  const [counted, increased, anchored, native] = await Promise.all([
    client.single(boundaryProbe, timeMs, call),
    client.single(increaseProbe(timeMs), timeMs, call),
    isKnown(anchoredProbe, client, timeMs, call),
    isKnown(nativeProbe, client, timeMs, call),
  ]);
  const [boundary, increases] = [boundaries.get(counted), increaseRules.get(increased)];
  if (boundary === undefined)
    throw new StoreError("unsupported", `a range of two seconds has ${counted ?? "no"} values, not 2 or 3`);
  if (increases === undefined)
    throw new StoreError("unsupported", `an increase of 30 is ${increased ?? "absent"}, not 30 or 37.5`);
  return { boundary, increases, anchored, native };
}

async function isKnown(probe: string, client: PrometheusClient, timeMs: number, call: StoreCall): Promise<boolean> {
  try {
    await client.single(probe, timeMs, call);
    return true;
  } catch (error) {
    if (error instanceof StoreError && !error.isPassing && (error.kind === "refused" || error.kind === "status"))
      return false;
    throw error;
  }
}
