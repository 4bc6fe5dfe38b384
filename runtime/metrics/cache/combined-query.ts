import type { StoreSeries } from "../../stores/prometheus/matrix.ts";
import {
  joinedLater,
  type Narrower,
  type PrometheusClient,
  type RangeAsk,
  type RangeGrid,
  type RangeResult,
} from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import { gravest } from "../../stores/prometheus/api-response.ts";

/** A label that no store has; it holds the index of the query of a series. */
const placeLabel = "";

/** Combines several range queries into one, so that their cached and shared points are always of the same read. */
export function combineQueries(
  asks: readonly RangeAsk[],
): { readonly query: string; readonly grid: RangeGrid } | undefined {
  const [first] = asks;
  if (first === undefined) return undefined;
  return {
    query: JSON.stringify(asks.map(({ query }) => query)),
    grid: { ...first.grid, narrower: combineNarrower(asks) },
  };
}

/** Prints all queries for narrower points; undefined unless the points of all of them merge in the same way. */
function combineNarrower(asks: readonly RangeAsk[]): Narrower | undefined {
  const [first, ...others] = asks.map(({ grid: { narrower } }) => narrower);
  if (first === undefined || others.some((other) => other?.merge !== first.merge)) return undefined;
  return {
    merge: first.merge,
    print(widthMs) {
      const printed = asks.map(({ grid: { narrower } }) => narrower?.print(widthMs));
      return printed.includes(undefined) ? undefined : JSON.stringify(printed);
    },
  };
}

/** Reads a query of {@link combineQueries}, each of its parts in its own request. */
export async function readCombined(
  client: PrometheusClient,
  query: string,
  grid: RangeGrid,
  call: StoreCall,
): Promise<RangeResult<StoreSeries>> {
  const results = await Promise.all(
    (JSON.parse(query) as readonly string[]).map((one) => client.range(one, grid, call)),
  );
  return {
    series: results.flatMap(({ series }, place) =>
      series.map((one) => ({ ...one, labels: { ...one.labels, [placeLabel]: String(place) } })),
    ),
    warning: gravest(results.map(({ warning }) => warning)),
  };
}

/** The result of one of the combined queries. */
export function resultAt(result: RangeResult<StoreSeries>, place: number): RangeResult<StoreSeries> {
  const pieces = result.pieces?.map((piece) => ({
    ...piece,
    cut: (first: number, count: number) => seriesAt(piece.cut(first, count), place),
  }));
  return joinedLater({ pieces, warning: result.warning }, () => seriesAt(result.series, place));
}

function seriesAt(series: readonly StoreSeries[], place: number): readonly StoreSeries[] {
  return series.flatMap(({ labels: { [placeLabel]: at, ...labels }, ...values }) =>
    at === String(place) ? [{ ...values, labels }] : [],
  );
}
