import {
  inStore,
  keyOf,
  kinds,
  quantiles,
  widthOf,
  type ResponseGrid,
  type AskedSeries,
  type SeriesPoints,
} from "./asked.ts";
import type { RawHistogram } from "./native-functions.ts";
import type { RawSeries } from "./recompute.ts";
import type { TestStore } from "./universe.ts";

interface Matrix {
  readonly status: string;
  readonly error?: string;
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly values?: readonly (readonly [number, string])[];
      readonly histograms?: readonly (readonly [number, StoredHistogram])[];
    }[];
  };
}

interface StoredHistogram {
  readonly count: string;
  readonly sum: string;
  readonly buckets?: readonly (readonly [boundaries: number, lower: string, upper: string, count: string])[];
}

/** The same question in PromQL, finished by Prometheus itself: ratios and quantiles too. */
function directQuery(asked: AskedSeries, widthSeconds: number): string {
  const { kind, name } = kinds[asked.metric];
  const range = (suffix = "", more: readonly string[] = []): string =>
    `${name}${suffix}{${[...matchersOf(asked), ...more].join(", ")}}[${widthSeconds}s]`;
  switch (kind) {
    case "gauge":
      return gaugeQuery(asked, range());
    case "counter":
      return counterQuery(asked, `increase(${range()})`, widthSeconds);
    case "anchored":
      return counterQuery(asked, `increase(${range()} anchored)`, widthSeconds);
    case "ratio": {
      const [ok, all] = [['result="ok"'], []].map((more) => sumBy(asked, `increase(${range("", more)})`));
      return `(${ok} or ${all} * 0) / ${all}`;
    }
    case "histogram":
      return histogramQuery(asked, (suffix) => `increase(${range(suffix)})`);
    case "anchoredHistogram":
      return histogramQuery(asked, (suffix) => `increase(${range(suffix)} anchored)`);
    case "native":
      return nativeQuery(asked, sumBy(asked, `increase(${range()})`));
    default:
      return kind satisfies never;
  }
}

function matchersOf({ filters, tenant }: AskedSeries): readonly string[] {
  return Object.entries({ ...filters, tenant }).map(([label, value]) => `${inStore(label)}=${JSON.stringify(value)}`);
}

function by({ groupBy }: AskedSeries, more: readonly string[] = []): string {
  return `by (${[...groupBy.map(inStore), ...more].join(", ")})`;
}

function sumBy(asked: AskedSeries, inner: string, more?: readonly string[]): string {
  return `sum ${by(asked, more)} (${inner})`;
}

function gaugeQuery(asked: AskedSeries, range: string): string {
  if (asked.agg === "sum") return sumBy(asked, `avg_over_time(${range})`);
  if (asked.agg !== "avg") return `${asked.agg} ${by(asked)} (${asked.agg}_over_time(${range}))`;
  return `${sumBy(asked, `sum_over_time(${range})`)} / ${sumBy(asked, `count_over_time(${range})`)}`;
}

function counterQuery(asked: AskedSeries, increase: string, widthSeconds: number): string {
  if (asked.agg === "sum") return sumBy(asked, increase);
  return asked.agg === "avg"
    ? `${sumBy(asked, increase)} / ${widthSeconds}`
    : `${asked.agg} ${by(asked)} (${increase})`;
}

function histogramQuery(asked: AskedSeries, increase: (suffix: string) => string): string {
  const q = quantiles[asked.agg];
  if (q !== undefined) return `histogram_quantile(${q}, ${sumBy(asked, increase("_bucket"), ["le"])})`;
  const total = sumBy(asked, increase("_sum"));
  return asked.agg === "sum" ? total : `${total} / ${sumBy(asked, increase("_count"))}`;
}

/** The buckets of a percentile in PromQL. */
export function bucketQuery(asked: AskedSeries, stepSeconds: number): string {
  const { name } = kinds[asked.metric];
  return sumBy(asked, `increase(${name}_bucket{${matchersOf(asked).join(", ")}}[${stepSeconds}s])`, ["le"]);
}

function nativeQuery({ agg }: AskedSeries, summed: string): string {
  const q = quantiles[agg];
  if (q !== undefined) return `histogram_quantile(${q}, ${summed})`;
  return agg === "sum" ? `histogram_sum(${summed})` : `histogram_sum(${summed}) / histogram_count(${summed})`;
}

/** What a server answers to {@link directQuery}; points that are no finite number are left out. */
export async function askDirectly(url: string, asked: AskedSeries, grid: ResponseGrid): Promise<SeriesPoints<number>> {
  return askWhere(Number.isFinite, url, asked, grid);
}

/** The same for the Prometheus API, which returns infinite values too, unless of a ratio. */
export async function askAsPrometheus(
  url: string,
  asked: AskedSeries,
  grid: ResponseGrid,
): Promise<SeriesPoints<number>> {
  const isPoint = kinds[asked.metric].kind === "ratio" ? Number.isFinite : (value: number) => !Number.isNaN(value);
  return askWhere(isPoint, url, asked, grid);
}

async function askWhere(
  isPoint: (value: number) => boolean,
  url: string,
  asked: AskedSeries,
  grid: ResponseGrid,
): Promise<SeriesPoints<number>> {
  const series = await askRange(url, directQuery(asked, widthOf(grid)), grid);
  const present = series.map(({ metric, values = [] }) => {
    const points = values.map(([seconds, text]) => [Math.round(seconds * 1_000), numberOf(text)] as const);
    const key = keyOf(asked.groupBy, (label) => metric[inStore(label)]);
    return [key, new Map(points.filter(([, value]) => isPoint(value)))] as const;
  });
  return new Map(present.filter(([, points]) => points.size > 0));
}

/** The series of any range query over a grid; what is cached is not looked at. */
export async function askRange(url: string, query: string, grid: ResponseGrid): Promise<Matrix["data"]["result"]> {
  const { fromMs, toMs, stepSeconds } = grid;
  const start = String(fromMs / 1_000 + widthOf(grid));
  const { data } = await post(`${url}/api/v1/query_range`, {
    query,
    start,
    end: String(toMs / 1_000),
    step: String(stepSeconds),
    nocache: "1",
  });
  return data.result;
}

/** Every sample that a store has under a name; the region is that of the store. */
export async function rawSamples(store: TestStore, name: string, endMs: number): Promise<readonly RawSeries[]> {
  const query = `{__name__=${JSON.stringify(name)}}[30d]`;
  const { data } = await post(`${store.url}/api/v1/query`, { query, time: String(endMs / 1_000) });
  return data.result.map(({ metric, values = [], histograms = [] }) => ({
    labels: { ...metric, region: store.region },
    samples: values
      .map(([seconds, text]) => ({ ms: Math.round(seconds * 1_000), value: numberOf(text) }))
      // VictoriaMetrics keeps no NaN but the stale marker, and shows that.
      .filter(({ value }) => store.flavour !== "VictoriaMetrics" || !Number.isNaN(value)),
    histograms: histograms.map(([seconds, value]) => ({
      ms: Math.round(seconds * 1_000),
      value: parseHistogram(value),
    })),
    store: store.name,
  }));
}

function parseHistogram({ count, sum, buckets = [] }: StoredHistogram): RawHistogram {
  const rows = buckets.map(([, lower, upper, own]) => ({
    lower: numberOf(lower),
    upper: numberOf(upper),
    count: numberOf(own),
  }));
  return { count: numberOf(count), sum: numberOf(sum), buckets: rows };
}

/** A sample value as stores write it. */
export function numberOf(text: string): number {
  return text === "+Inf" ? Infinity : text === "-Inf" ? -Infinity : Number(text);
}

async function post(url: string, form: Readonly<Record<string, string>>): Promise<Matrix> {
  const response = await fetch(url, { method: "POST", body: new URLSearchParams(form) });
  const answer = (await response.json()) as Matrix;
  if (answer.status !== "success") throw new Error(`${form["query"]}: ${answer.error}`);
  return answer;
}
