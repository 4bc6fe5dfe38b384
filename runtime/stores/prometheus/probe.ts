import type { IncreaseRule } from "./flavours.ts";
import type { PrometheusClient } from "./prometheus-client.ts";
import { StoreError } from "../store-error.ts";
import type { StoreCall } from "./store-http.ts";

/**
 * Which samples `m[w]` at t covers: (t − w, t] in Prometheus 3, [t − w, t] in Prometheus 2 and others.
 * Source: design §5 rule 2.
 */
export type RangeBoundary = "LeftOpen" | "LeftClosed";

/** What a store can do, as seen by asking it. */
export interface StoreCapabilities {
  readonly boundary: RangeBoundary;
  readonly increases: IncreaseRule;
  /**
   * Whether it knows anchored ranges. Source: design §5 rule 6; Prometheus feature `promql-extended-range-selectors`.
   */
  readonly anchored: boolean;
  /** Whether it knows native histograms. Source: design §5 rule 10. */
  readonly native: boolean;
}

/** Every probe is about a minute that ends here, so that values fall on the edges of ranges. */
const minuteMs = 60_000;

/** A range of two seconds over a value at every second holds two or three of them. Needs no data. */
const boundaryProbe = "count_over_time(vector(1)[2s:1s])";
const boundaries: ReadonlyMap<number | undefined, RangeBoundary> = new Map([
  [2, "LeftOpen"],
  [3, "LeftClosed"],
]);
/** Values at 30, 15 and 0 s before the end: the plain rise is 30; stretched half an interval to the left, 37.5. */
const increaseProbe = (timeMs: number): string => `increase((vector(time()) > ${timeMs / 1_000 - 40})[60s:15s])`;
const increaseRules: ReadonlyMap<number | undefined, IncreaseRule> = new Map([
  [30, "Plain"],
  [37.5, "Extrapolated"],
]);
/** Parsed, and so refused, before any data is looked for. */
const anchoredProbe = 'count(increase({__name__="heliograph_probe"}[1m] anchored))';
const nativeProbe = 'count(histogram_count({__name__="heliograph_probe"}))';

/**
 * Asks a store what it can do.
 *
 * @throws StoreError; `unsupported` when its ranges or its increases are like no known store's
 */
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
    throw new StoreError("unsupported", `a range of two seconds held ${counted ?? "no"} values`);
  if (increases === undefined)
    throw new StoreError("unsupported", `an increase of 30 in 30 seconds was ${increased ?? "none"}`);
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
