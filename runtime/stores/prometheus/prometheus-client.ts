// The Prometheus HTTP API: client, flavours, probe, decoded responses. Peers are in `stores/peer/`.
import type { Merge } from "../../../api/queries.ts";
import type { PrometheusConfig } from "../../../crds/config.ts";
import { StoreError } from "../store-error.ts";
import type { ApiResponse, WarningClass } from "./api-response.ts";
import { flavours, type IncreaseRule } from "./flavours.ts";
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
  /** The same query in narrower points; undefined where its points are not sums or extremes of those. */
  readonly narrower?: Narrower | undefined;
}

/** A query whose wide points are exactly its merged narrower points. */
export interface Narrower {
  readonly merge: Merge;
  /** Prints the query for a width in milliseconds; undefined where the store reads other samples for that width. */
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
    const response = await post("query", { query, time: seconds(grid.startMs), timeout, ...parameters }, call);
    return { ...response, data: matrixOfVector(response.data) };
  };
  const vector: PrometheusClient["vector"] = async (query, timeMs, call) => {
    const form = { query, time: seconds(timeMs), timeout, ...flavour.parameters(0, config) };
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
      const response = await post("query_exemplars", { query, start: seconds(fromMs), end: seconds(toMs) }, call);
      return decodeExemplars(response.data);
    },
  };
}

function rangeForm({ startMs, stepMs, count }: PointGrid): Readonly<Record<string, string>> {
  return { start: seconds(startMs), end: seconds(startMs + (count - 1) * stepMs), step: seconds(stepMs) };
}

function seconds(ms: number): string {
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
/** A store without the feature refuses these queries while it parses them, whatever its data are. */
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
