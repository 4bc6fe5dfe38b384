import type { PrometheusConfig, StoreConfig, StoreFlavour } from "../../../crds/config.ts";

/**
 * How a store computes `increase`: `Extrapolated` to the edges of the range, as Prometheus documents it, or `Plain`
 * from the last sample before the range, as VictoriaMetrics does. The two cannot be added.
 */
export type IncreaseRule = "Extrapolated" | "Plain";

/** How one kind of server differs from Prometheus. */
interface Flavour {
  readonly increases: IncreaseRule;
  /**
   * Whether the value of a point is the same whichever other points are asked for with it. Only then may a window be
   * cut.
   */
  readonly isCuttable: boolean;
  /** Parameters besides the query and its times. @param rangeMs width of a point; 0 for a query without ranges */
  readonly parameters: (rangeMs: number, config: PrometheusConfig) => Readonly<Record<string, string>>;
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
    // An answer without some of its stores comes with a warning, which makes the region partial.
    parameters: (rangeMs, config) => ({
      dedup: "true",
      partial_response: "true",
      max_source_resolution: `${sourceResolutionSeconds(rangeMs / 1_000, config)}s`,
    }),
  },
  VictoriaMetrics: {
    increases: "Plain",
    // It guesses the interval between samples from those that the whole query reads.
    isCuttable: false,
    // Its cache rounds times, and by default it repeats older values in place of those of the last 30 seconds.
    parameters: () => ({ nocache: "1", latency_offset: "0s" }),
  },
};

/** What a plan has to know of a store, whichever kind it is. A peer's stores differ as those of the flavours do. */
export function traitsOf({ prometheus, peer }: StoreConfig): Pick<Flavour, "increases" | "isCuttable"> {
  if (prometheus !== undefined) return flavours[prometheus.flavour];
  return { increases: peer.increases, isCuttable: peer.increases === "Extrapolated" };
}

/**
 * The coarsest downsampled data that a point may be made of: allowed by the catalog, and an even part of the point. 0
 * is raw samples. Source: Thanos, "Querier", `max_source_resolution`.
 */
function sourceResolutionSeconds(rangeSeconds: number, { maxSourceResolutionSeconds = 0 }: PrometheusConfig): number {
  const fits = (seconds: number): boolean =>
    seconds <= maxSourceResolutionSeconds && rangeSeconds > 0 && rangeSeconds % seconds === 0;
  return thanosResolutionsSeconds.find(fits) ?? 0;
}
