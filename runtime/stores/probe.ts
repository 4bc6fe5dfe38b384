import type { PrometheusClient } from "./prometheus-client.ts";
import { StoreError } from "./store-error.ts";

/**
 * Which samples `m[w]` at t covers: (t − w, t] in Prometheus 3, [t − w, t] in Prometheus 2 and others.
 * Source: design §5 rule 2.
 */
export type RangeBoundary = "LeftOpen" | "LeftClosed";

/** What a store can do, as seen by asking it. */
export interface StoreCapabilities {
  readonly boundary: RangeBoundary;
  /** Whether it knows anchored ranges. Source: design §5 rule 6; Prometheus feature `promql-extended-range-selectors`. */
  readonly anchored: boolean;
}

/** A range of two seconds over a value at every second holds two or three of them. Needs no data. */
const boundaryProbe = "count_over_time(vector(1)[2s:1s])";
const boundaries: ReadonlyMap<number | undefined, RangeBoundary> = new Map([
  [2, "LeftOpen"],
  [3, "LeftClosed"],
]);
/** Parsed, and so refused, before any data is looked for. */
const anchoredProbe = 'count(increase({__name__="heliograph_probe"}[1m] anchored))';

/**
 * Asks a store what it can do.
 *
 * @throws StoreError; `unsupported` when its ranges are like no known store's
 */
export async function probeStore(
  client: PrometheusClient,
  nowMs: number,
  signal: AbortSignal,
): Promise<StoreCapabilities> {
  // Only at a whole second does the left end of the range fall on a value.
  const wholeSecondMs = Math.floor(nowMs / 1_000) * 1_000;
  const [counted, anchored] = await Promise.all([
    client.single(boundaryProbe, wholeSecondMs, signal),
    knowsAnchored(client, wholeSecondMs, signal),
  ]);
  const boundary = boundaries.get(counted);
  if (boundary !== undefined) return { boundary, anchored };
  throw new StoreError("unsupported", `a range of two seconds held ${counted ?? "no"} values`);
}

async function knowsAnchored(client: PrometheusClient, timeMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await client.single(anchoredProbe, timeMs, signal);
    return true;
  } catch (error) {
    if (error instanceof StoreError && (error.kind === "refused" || error.kind === "status")) return false;
    throw error;
  }
}
