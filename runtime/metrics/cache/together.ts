import type { StoreSeries } from "../../stores/prometheus/matrix.ts";
import type {
  Narrower,
  PrometheusClient,
  RangeResult,
  RangeAsk,
  RangeGrid,
} from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import { gravest } from "../../stores/prometheus/warnings.ts";

/** A label that no store has: the place of the query that a series answers. */
const placeLabel = "";

/** Several range queries as one: what is kept of them, shared and read again is of one reading. */
export function queryTogether(
  asks: readonly RangeAsk[],
): { readonly query: string; readonly grid: RangeGrid } | undefined {
  const [first] = asks;
  if (first === undefined) return undefined;
  return {
    query: JSON.stringify(asks.map(({ query }) => query)),
    grid: { ...first.grid, narrower: narrowerTogether(asks) },
  };
}

/** Narrower points of all of them, if those of each add up alike. */
function narrowerTogether(asks: readonly RangeAsk[]): Narrower | undefined {
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

/** Asks for what {@link queryTogether} made, each query in a request of its own. */
export async function askTogether(
  client: PrometheusClient,
  query: string,
  grid: RangeGrid,
  call: StoreCall,
): Promise<RangeResult<StoreSeries>> {
  const answers = await Promise.all(
    (JSON.parse(query) as readonly string[]).map((one) => client.range(one, grid, call)),
  );
  return {
    series: answers.flatMap(({ series }, place) =>
      series.map((one) => ({ ...one, labels: { ...one.labels, [placeLabel]: String(place) } })),
    ),
    warning: gravest(answers.map(({ warning }) => warning)),
  };
}

/** The answer to one of the queries. */
export function answerAt({ series, warning }: RangeResult<StoreSeries>, place: number): RangeResult<StoreSeries> {
  const own = series.flatMap(({ labels: { [placeLabel]: at, ...labels }, ...values }) =>
    at === String(place) ? [{ ...values, labels }] : [],
  );
  return { series: own, warning };
}
