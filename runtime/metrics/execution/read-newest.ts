import type { PrometheusClient, RangeBoundary } from "../../stores/prometheus/prometheus-client.ts";
import { StoreError } from "../../stores/store-error.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import type { PartSeries } from "../aggregation/merge.ts";
import type { PlannedPart, Plan } from "../planning/plan.ts";
import { printVector, type Vector } from "../promql/promql.ts";
import { lastPointMs } from "./last-point.ts";

/** One part and its store. */
export interface PartRead {
  readonly plan: Plan;
  readonly part: PlannedPart;
  readonly client: PrometheusClient;
  readonly call: StoreCall;
  readonly boundary: RangeBoundary;
}

/** Most times at which a store looks for the newest sample of a point. */
const looksMax = 288;

/** The time of the newest sample at the end of the window; undefined without a recent one. */
export function readNewest(reading: PartRead): Promise<number | undefined> {
  return readTime(reading.part.newest, reading.plan.query.window.toMs, reading);
}

/**
 * The time of the newest sample of the last present point, where the store names none at the end of the window: its
 * series have ended, or have no sample within the look-back of the store. A failure of this read is none of the query.
 */
export async function findNewest(
  reading: PartRead,
  points: Pick<PartSeries, "ranges" | "histograms">,
): Promise<number | undefined> {
  const { part, plan } = reading;
  const last = lastPointMs(points, plan.grid);
  if (last === undefined || part.newest.kind !== "timestamp") return undefined;
  const rangeMs = plan.query.window.widthSeconds * 1_000;
  const stepMs = Math.max(part.store.intervalSeconds * 1_000, Math.ceil(rangeMs / looksMax));
  try {
    return await readTime({ ...part.newest, within: { rangeMs, stepMs } }, last, reading);
  } catch (error) {
    if (error instanceof StoreError) return undefined;
    throw error;
  }
}

async function readTime(
  newest: Vector,
  timeMs: number,
  { client, call, boundary }: PartRead,
): Promise<number | undefined> {
  const seconds = await client.single(printVector(newest, boundary), timeMs, call);
  return seconds === undefined ? undefined : seconds * 1_000;
}
