// The Prometheus HTTP API: client, flavours, probe, decoded responses. Peers are in `stores/peer/`.
import type { PartialPoints } from "../../../api/peers.ts";
import type { Merge } from "../../../api/queries.ts";
import type { PrometheusConfig, StoreConfig, StoreFlavour } from "../../../crds/config.ts";
import { StoreError } from "../store-error.ts";
import type { ApiResponse } from "./api-response.ts";
import {
  decodeHistograms,
  decodeMatrix,
  decodeVector,
  type HistogramSeries,
  matrixOfVector,
  parseSample,
  type PointGrid,
  type StoreSeries,
  type VectorSample,
  type WarningClass,
} from "./matrix.ts";
import type { Post, StoreCall } from "./store-http.ts";

/** The result of a range query. */
export interface RangeResult<Series> {
  /** A cache joins it from `pieces` when it is read. */
  readonly series: readonly Series[];
  /** What `series` consists of, in the order of time; undefined for a result without a cache. */
  readonly pieces?: readonly Piece<Series>[] | undefined;
  /** The class of the warnings in the response. */
  readonly warning: WarningClass;
}

/** Adjacent points of a result that come from one read of a store. */
export interface Piece<Series> {
  /** Index of its first point in the result. */
  readonly offset: number;
  readonly count: number;
  /** The read. Points of the same read, query and time are equal. */
  readonly read: object;
  /** Unix milliseconds of the read. @default now */
  readonly readAtMs?: number;
  /** The series of some of its points, without those that have none of them. @param first index in the piece */
  readonly cut: (first: number, count: number) => readonly Series[];
}

/** A result that joins its series when they are read. */
export function joinedLater<Series>(
  { pieces, warning }: Omit<RangeResult<Series>, "series">,
  join: () => readonly Series[],
): RangeResult<Series> {
  let joined: readonly Series[] | undefined;
  return {
    get series() {
      joined ??= join();
      return joined;
    },
    pieces,
    warning,
  };
}

/** The requested points and their width. */
export interface RangeGrid extends PointGrid {
  /** Width of one point, in milliseconds. */
  readonly rangeMs: number;
  /** Time that all edges of the points are multiples of: samples of a store may be as coarse. @default rangeMs */
  readonly alignedMs?: number;
  /** The same query in narrower points; undefined if its points are not sums or extremes of those. */
  readonly narrower?: Narrower | undefined;
}

/** A query whose wide points are exactly its merged narrower points. */
export interface Narrower {
  readonly merge: Merge;
  /** Prints the query for a width in milliseconds; undefined if the store reads other samples for that width. */
  readonly print: (widthMs: number) => string | undefined;
}

/** One range query. */
export interface RangeAsk {
  readonly query: string;
  readonly grid: RangeGrid;
}

/** An exemplar of a store. */
export interface StoreExemplar {
  readonly seriesLabels: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly timestampMs: number;
}

/**
 * The client of one Prometheus-compatible store. Every method rejects with `StoreError`. An aborted signal cancels the
 * request, and the method rejects with the reason of the signal.
 */
export interface PrometheusClient {
  /** `POST /api/v1/query_range` of a query whose values are numbers, `POST /api/v1/query` for one point. */
  range(query: string, grid: RangeGrid, call: StoreCall): Promise<RangeResult<StoreSeries>>;
  /**
   * Several range queries over one grid with one result: a cache returns points of all of them from the same reads.
   * @default each query alone
   */
  ranges?(asks: readonly RangeAsk[], call: StoreCall): Promise<readonly RangeResult<StoreSeries>[]>;
  /** The same of a query whose values are native histograms. */
  histograms(query: string, grid: RangeGrid, call: StoreCall): Promise<RangeResult<HistogramSeries>>;
  /** `POST /api/v1/query` */
  vector(query: string, timeMs: number, call: StoreCall): Promise<readonly VectorSample[]>;
  /** `POST /api/v1/query`: the value of a query with at most one series. */
  single(query: string, timeMs: number, call: StoreCall): Promise<number | undefined>;
  /** `POST /api/v1/query_exemplars`: empty for a store without exemplars. */
  exemplars(query: string, fromMs: number, toMs: number, call: StoreCall): Promise<readonly StoreExemplar[]>;
}

/** Creates a client that sends with `post`. */
export function createPrometheusClient(config: PrometheusConfig, post: Post): PrometheusClient {
  const flavour = flavours[config.flavour];
  const timeout = `${config.timeoutMs}ms`;

  /** One point is an instant query: caches in front of stores round the times of range queries only. */
  const range = async (query: string, grid: RangeGrid, call: StoreCall, scanned?: PointGrid): Promise<ApiResponse> => {
    const parameters = flavour.parameters(grid.alignedMs ?? grid.rangeMs, config);
    if (grid.count > 1)
      return post("query_range", { query, ...rangeForm(grid), timeout, ...parameters }, call, scanned);
    const response = await post("query", { query, time: inSeconds(grid.startMs), timeout, ...parameters }, call);
    return { ...response, data: matrixOfVector(response.data) };
  };
  const vector: PrometheusClient["vector"] = async (query, timeMs, call) => {
    const form = { query, time: inSeconds(timeMs), timeout, ...flavour.parameters(0, config) };
    return decodeVector((await post("query", form, call)).data);
  };
  return {
    async range(query, grid, call) {
      const { data, columns, warning } = await range(query, grid, call, grid);
      return { series: decodeMatrix(data, grid, columns), warning };
    },
    async histograms(query, grid, call) {
      const { data, warning } = await range(query, grid, call);
      return { series: decodeHistograms(data, grid), warning };
    },
    vector,
    single: async (query, timeMs, call) => (await vector(query, timeMs, call))[0]?.value,
    async exemplars(query, fromMs, toMs, call) {
      const response = await post("query_exemplars", { query, start: inSeconds(fromMs), end: inSeconds(toMs) }, call);
      return decodeExemplars(response.data);
    },
  };
}

function rangeForm({ startMs, stepMs, count }: PointGrid): Readonly<Record<string, string>> {
  return { start: inSeconds(startMs), end: inSeconds(startMs + (count - 1) * stepMs), step: inSeconds(stepMs) };
}

function inSeconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}

interface ExemplarEntry {
  readonly seriesLabels?: Readonly<Record<string, string>>;
  readonly exemplars?: readonly {
    readonly labels?: Readonly<Record<string, string>>;
    readonly value?: string;
    readonly timestamp?: number;
  }[];
}

function decodeExemplars(data: unknown): readonly StoreExemplar[] {
  if (!Array.isArray(data)) throw new StoreError("malformed", "the response is not a list of exemplars");
  return (data as readonly ExemplarEntry[]).flatMap(({ seriesLabels = {}, exemplars = [] }) =>
    exemplars.map(({ labels = {}, value = "NaN", timestamp = Number.NaN }) => ({
      seriesLabels,
      labels,
      value: parseSample(value),
      timestampMs: Math.round(timestamp * 1_000),
    })),
  );
}

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
  return other === 0 ? Math.abs(one) : divisor(other, one % other);
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
