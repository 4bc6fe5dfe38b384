import type { Pods } from "../../pods/pods.ts";
import type { PointGrid } from "../../stores/prometheus/matrix.ts";
import { StoreError } from "../../stores/store-error.ts";
import { decodeExtents, encodeExtents } from "./encode-extents.ts";
import { type CachedExtent, cover, type Lifetimes, type RangeCache } from "./extents.ts";
import { createFillLeases } from "./fill-leases.ts";
import { cutterOf, histogramSeries, numberSeries, type SeriesKind } from "./series-kind.ts";

/** Points of a query that a pod lacks. */
export interface LackingPoints<Series> {
  readonly kind: SeriesKind<Series>;
  readonly key: string;
  readonly grid: PointGrid;
  /** The greatest age of the points. */
  readonly limits: Lifetimes;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** Recent extents of the other pods. A pod keeps its extents in memory and sends points to a pod that lacks them. */
export interface SharedExtents {
  /** Tests if extents of stores with this residency may be shared. */
  mayHold(residency: string): boolean;
  /**
   * Reads missing points in one pod at a time, under a fill lease. A pod without others reads at once.
   *
   * @param name equal for equal reads
   * @param work reads the points that `found`, the points of another pod, lacks
   * @throws StoreError the failure of the read, in this pod or another
   */
  once<Result extends HeldResult, Series>(
    name: string,
    lacking: LackingPoints<Series>,
    work: (found: readonly CachedExtent<Series>[]) => Promise<Result>,
  ): Promise<Result>;
}

interface HeldResult {
  /** Set when this pod has read points and can send them to other pods. */
  readonly isHolder: boolean;
}

interface SharedExtentsOptions {
  /** Residency of the pods' messages: stores of other residencies share nothing. @default any store may share */
  readonly residency?: string | undefined;
  /** Called when the points of another pod cannot be had. @default ignored */
  readonly failed?: (error: unknown) => void;
}

const topic = "extents";
/** Only a pod that is stalled takes so long; one that is gone shows at once. Time for the store is left. */
const requestTimeoutMs = 500;
/** Most bytes of one reply. As text it stays below 1 MiB, the greatest message of NATS by default. */
export const sentBytesMax = 512 * 1024;
/** Most replies that a pod encodes at once. */
const repliesMax = 32;

/** Creates shared extents, and sends the extents of a cache to other pods. */
export function createSharedExtents(
  ranges: RangeCache,
  pods: Pods,
  { residency, failed = () => undefined }: SharedExtentsOptions = {},
): SharedExtents {
  const leases = createFillLeases(pods);
  serveExtents(ranges, pods);
  return {
    mayHold: (own) => residency === undefined || own === residency,
    async once(name, lacking, work) {
      const lease = await leases.take(lacking.key, name);
      const end = lease.state === "own" ? lease.end : () => undefined;
      try {
        const { holder } = lease;
        const found = holder === undefined ? [] : await request(pods, holder, lacking).catch(noneAfter(failed));
        const result = await work(found);
        end({ isHolder: result.isHolder });
        return result;
      } catch (error) {
        end({ isHolder: false, failure: error instanceof StoreError ? error : undefined });
        throw error;
      }
    },
  };
}

const noneAfter =
  (failed: (error: unknown) => void) =>
  (error: unknown): [] => {
    failed(error);
    return [];
  };

/** A request for points, and its reply with the encoded extents in base64. */
interface PointsRequest extends Omit<LackingPoints<unknown>, "kind"> {
  readonly kind: SeriesKind<unknown>["name"];
}

/** @throws Error without a timely reply */
async function request<Series>(
  pods: Pods,
  holder: string,
  { kind, key, grid: { startMs, stepMs, count }, limits, nowMs }: LackingPoints<Series>,
): Promise<readonly CachedExtent<Series>[]> {
  const { settledMs, tailMs } = limits;
  const points = { kind: kind.name, key, grid: { startMs, stepMs, count }, limits: { settledMs, tailMs }, nowMs };
  const reply = await pods.request(holder, topic, points satisfies PointsRequest, requestTimeoutMs);
  const { extents } = (reply ?? {}) as { readonly extents?: unknown };
  return typeof extents === "string" ? decodeExtents(kind, key, Buffer.from(extents, "base64")) : [];
}

/** Replies to the requests of other pods. */
function serveExtents(ranges: RangeCache, pods: Pods): void {
  let replies = 0;
  pods.serve(topic, async (message) => {
    if (replies >= repliesMax) return {};
    replies += 1;
    try {
      const points = message as PointsRequest;
      const encoded = await (points.kind === numberSeries.name
        ? packed(numberSeries, ranges, points)
        : packed(histogramSeries, ranges, points));
      return encoded === undefined || encoded.length > sentBytesMax
        ? {}
        : { extents: Buffer.from(encoded).toString("base64") };
    } finally {
      replies -= 1;
    }
  });
}

/** The points of this pod that another one lacks; undefined without any. */
async function packed<Series>(
  kind: SeriesKind<Series>,
  ranges: RangeCache,
  { key, grid, limits, nowMs }: PointsRequest,
): Promise<Uint8Array | undefined> {
  const { runs } = cover(ranges.extents<Series>(key), grid, limits, nowMs);
  const extents = runs.map((run): CachedExtent<Series> => {
    const { extent, offset, count } = run;
    const series = cutterOf(kind, run, grid)(0, count);
    return { ...extent, startMs: grid.startMs + offset * grid.stepMs, count, series };
  });
  return extents.length === 0 ? undefined : encodeExtents(kind, key, extents);
}
