import type { PartialPoints } from "../../../api/peers.ts";
import type { PrometheusConfig, StoreConfig, StoreFlavour } from "../../../crds/config.ts";
import type { PointGrid } from "./matrix.ts";

/**
 * The rule by which a store computes `increase`. `Extrapolated`: to the edges of the range, as Prometheus documents it.
 * `Plain`: from the last sample before the range, as VictoriaMetrics does. Increases by different rules do not add up.
 */
export type IncreaseRule = PartialPoints["increases"];

/** The differences of one kind of server from Prometheus. */
interface Flavour {
  readonly increases: IncreaseRule;
  /**
   * True when the value of a point does not depend on the other points of the request. Only then a window may be split.
   */
  readonly isCuttable: boolean;
  /**
   * Parameters besides the query and its times.
   *
   * @param alignedMs time that all edges of points are multiples of, or their width; 0 for a query without ranges
   */
  readonly parameters: (alignedMs: number, config: PrometheusConfig) => Readonly<Record<string, string>>;
}

const plain: Flavour = { increases: "Extrapolated", isCuttable: true, parameters: () => ({}) };

/** Resolutions that Thanos downsamples to, in seconds. Source: Thanos, "Compactor". */
const thanosResolutionsSeconds = [3_600, 300] as const;

/** Every flavour of the resource. */
export const flavours: Readonly<Record<StoreFlavour, Flavour>> = {
  Prometheus: plain,
  Mimir: plain,
  Thanos: {
    ...plain,
    // A response without data of some of its stores has a warning, which makes the region partial.
    parameters: (alignedMs, config) => ({
      dedup: "true",
      partial_response: "true",
      max_source_resolution: `${sourceResolutionSeconds(alignedMs / 1_000, config)}s`,
    }),
  },
  VictoriaMetrics: {
    increases: "Plain",
    // It estimates the interval between samples from all samples of the query.
    isCuttable: false,
    // Its cache rounds times. By default, it repeats older values in place of those of the last 30 seconds.
    parameters: () => ({ nocache: "1", latency_offset: "0s" }),
  },
};

/** The differences of a store that a plan depends on. A peer has those of the flavours of its own stores. */
export function traitsOf({ prometheus, peer }: StoreConfig): Pick<Flavour, "increases" | "isCuttable"> {
  if (prometheus !== undefined) return flavours[prometheus.flavour];
  return { increases: peer.increases, isCuttable: peer.increases === "Extrapolated" };
}

/** The greatest time that all edges of points are multiples of. A coarser sample would lie across an edge. */
export function alignmentOf({ startMs, stepMs, rangeMs }: PointGrid & { readonly rangeMs: number }): number {
  return divisor(divisor(rangeMs, stepMs), startMs);
}

/** The greatest common divisor. */
function divisor(one: number, other: number): number {
  let [a, b] = [Math.abs(one), Math.abs(other)];
  while (b > 0) [a, b] = [b, a % b];
  return a;
}

/**
 * The coarsest resolution of downsampled data for a point: the catalog allows it, and it divides the point evenly. 0
 * selects raw samples. Source: Thanos, "Querier", `max_source_resolution`.
 */
function sourceResolutionSeconds(alignedSeconds: number, { maxSourceResolutionSeconds = 0 }: PrometheusConfig): number {
  const fits = (seconds: number): boolean =>
    seconds <= maxSourceResolutionSeconds && alignedSeconds > 0 && alignedSeconds % seconds === 0;
  return thanosResolutionsSeconds.find(fits) ?? 0;
}
