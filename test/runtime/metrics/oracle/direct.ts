import { inStore, keyOf, kinds, quantiles, type AnsweredGrid, type AskedSeries, type SeriesPoints } from "./asked.ts";
import type { RawSeries } from "./recompute.ts";
import type { TestStore } from "./universe.ts";

interface Matrix {
  readonly status: string;
  readonly error?: string;
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly values: readonly (readonly [number, string])[];
    }[];
  };
}

/** The same question in PromQL, finished by Prometheus itself: ratios and quantiles too. */
export function directQuery(asked: AskedSeries, stepSeconds: number): string {
  const { kind, name } = kinds[asked.metric];
  const range = (suffix = "", more: readonly string[] = []): string =>
    `${name}${suffix}{${[...matchersOf(asked), ...more].join(", ")}}[${stepSeconds}s]`;
  switch (kind) {
    case "gauge":
      return gaugeQuery(asked, range());
    case "counter":
      return counterQuery(asked, `increase(${range()})`, stepSeconds);
    case "anchored":
      return counterQuery(asked, `increase(${range()} anchored)`, stepSeconds);
    case "ratio":
      return `${sum(asked, `increase(${range("", ['result="ok"'])})`)} / ${sum(asked, `increase(${range()})`)}`;
    case "histogram":
      return histogramQuery(asked, (suffix) => `increase(${range(suffix)})`);
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

function sum(asked: AskedSeries, inner: string, more?: readonly string[]): string {
  return `sum ${by(asked, more)} (${inner})`;
}

function gaugeQuery(asked: AskedSeries, range: string): string {
  if (asked.agg === "sum") return sum(asked, `avg_over_time(${range})`);
  if (asked.agg !== "avg") return `${asked.agg} ${by(asked)} (${asked.agg}_over_time(${range}))`;
  return `${sum(asked, `sum_over_time(${range})`)} / ${sum(asked, `count_over_time(${range})`)}`;
}

function counterQuery(asked: AskedSeries, increase: string, stepSeconds: number): string {
  if (asked.agg === "sum") return sum(asked, increase);
  return asked.agg === "avg" ? `${sum(asked, increase)} / ${stepSeconds}` : `${asked.agg} ${by(asked)} (${increase})`;
}

function histogramQuery(asked: AskedSeries, increase: (suffix: string) => string): string {
  const q = quantiles[asked.agg];
  if (q !== undefined) return `histogram_quantile(${q}, ${sum(asked, increase("_bucket"), ["le"])})`;
  const total = sum(asked, increase("_sum"));
  return asked.agg === "sum" ? total : `${total} / ${sum(asked, increase("_count"))}`;
}

/** What a server answers to {@link directQuery}; points that are no finite number are left out. */
export async function askDirectly(
  url: string,
  asked: AskedSeries,
  { fromMs, toMs, stepSeconds }: AnsweredGrid,
): Promise<SeriesPoints<number>> {
  const { data } = await post(`${url}/api/v1/query_range`, {
    query: directQuery(asked, stepSeconds),
    start: String(fromMs / 1_000 + stepSeconds),
    end: String(toMs / 1_000),
    step: String(stepSeconds),
  });
  const series = data.result.map(({ metric, values }) => {
    const points = values.map(([seconds, text]) => [Math.round(seconds * 1_000), Number(text)] as const);
    const key = keyOf(asked.groupBy, (label) => metric[inStore(label)]);
    return [key, new Map(points.filter(([, value]) => Number.isFinite(value)))] as const;
  });
  return new Map(series.filter(([, points]) => points.size > 0));
}

/** Every sample that a store has under a name; the region is that of the store. */
export async function rawSamples(store: TestStore, name: string, endMs: number): Promise<readonly RawSeries[]> {
  const query = `{__name__=${JSON.stringify(name)}}[30d]`;
  const { data } = await post(`${store.url}/api/v1/query`, { query, time: String(endMs / 1_000) });
  return data.result.map(({ metric, values }) => ({
    labels: { ...metric, region: store.region },
    samples: values.map(([seconds, text]) => ({ ms: Math.round(seconds * 1_000), value: parse(text) })),
    store: store.name,
  }));
}

function parse(text: string): number {
  return text === "+Inf" ? Infinity : Number(text);
}

async function post(url: string, form: Readonly<Record<string, string>>): Promise<Matrix> {
  const response = await fetch(url, { method: "POST", body: new URLSearchParams(form) });
  const answer = (await response.json()) as Matrix;
  if (answer.status !== "success") throw new Error(`${form["query"]}: ${answer.error}`);
  return answer;
}
