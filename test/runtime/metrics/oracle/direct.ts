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
export function directQuery({ metric, agg, tenant, filters, groupBy }: AskedSeries, stepSeconds: number): string {
  const { kind, name } = kinds[metric];
  const matchers = Object.entries({ ...filters, tenant })
    .filter(([label]) => label !== "region")
    .map(([label, value]) => `${inStore(label)}=${JSON.stringify(value)}`);
  const range = (suffix = "", more: readonly string[] = []): string =>
    `${name}${suffix}{${[...matchers, ...more].join(", ")}}[${stepSeconds}s]`;
  const by = groupBy.map(inStore);
  const sum = (inner: string, labels = by): string => `sum by (${labels.join(", ")}) (${inner})`;
  const increase = (suffix?: string, more?: readonly string[]): string => `increase(${range(suffix, more)})`;
  switch (kind) {
    case "gauge":
      if (agg === "sum") return sum(`avg_over_time(${range()})`);
      if (agg === "avg") return `${sum(`sum_over_time(${range()})`)} / ${sum(`count_over_time(${range()})`)}`;
      return `${agg} by (${by.join(", ")}) (${agg}_over_time(${range()}))`;
    case "counter":
    case "anchored": {
      const inc = kind === "counter" ? increase() : `increase(${range()} anchored)`;
      if (agg === "sum") return sum(inc);
      return agg === "avg" ? `${sum(inc)} / ${stepSeconds}` : `${agg} by (${by.join(", ")}) (${inc})`;
    }
    case "ratio":
      return `${sum(increase("", ['result="ok"']))} / ${sum(increase())}`;
    case "histogram": {
      const q = quantiles[agg];
      if (q !== undefined) return `histogram_quantile(${q}, ${sum(increase("_bucket"), [...by, "le"])})`;
      return agg === "sum" ? sum(increase("_sum")) : `${sum(increase("_sum"))} / ${sum(increase("_count"))}`;
    }
    default:
      return kind satisfies never;
  }
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
