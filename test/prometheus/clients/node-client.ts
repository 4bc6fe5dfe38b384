import { createRequire } from "node:module";
import type { ClientAnswer, PrometheusClient, Target } from "./client.ts";

/** What is used of the package `prometheus-query`. */
interface Library {
  readonly PrometheusDriver: new (options: {
    readonly endpoint: string;
    readonly baseURL: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly preferPost: boolean;
  }) => Driver;
}

interface Driver {
  instantQuery(query: string, time: number): Promise<QueryResult>;
  rangeQuery(query: string, start: number, end: number, step: number): Promise<QueryResult>;
  series(selector: string, start: number, end: number): Promise<readonly LibraryMetric[]>;
  labelValues(label: string): Promise<readonly string[]>;
}

interface QueryResult {
  readonly result: readonly {
    readonly metric: LibraryMetric;
    readonly value?: LibraryPoint;
    readonly values?: readonly LibraryPoint[];
  }[];
}

interface LibraryMetric {
  readonly name?: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface LibraryPoint {
  readonly time: Date;
  readonly value: number;
}

const hourMs = 3_600_000;

/** What the library throws. It is no Error. */
interface Thrown {
  readonly error?: string;
  readonly prometheus?: { readonly errorType?: string };
}

/** The usual library for Node. It looks for warnings in the wrong place, so that its hook gets none. */
export function nodeClient({ url, token }: Target, preferPost = false): PrometheusClient {
  const { PrometheusDriver } = createRequire(import.meta.url)("prometheus-query") as Library;
  const { origin, pathname } = new URL(`${url}/api/v1`);
  const headers = { authorization: `Bearer ${token}` };
  const driver = new PrometheusDriver({ endpoint: origin, baseURL: pathname, headers, preferPost });
  const asked = async <T>(answer: Promise<T>): Promise<T> => {
    const thrown = (cause: Thrown): never => {
      throw new Error(`${cause.prometheus?.errorType}: ${cause.error}`, { cause });
    };
    return answer.catch(thrown);
  };
  return {
    name: preferPost ? "prometheus-query by POST" : "prometheus-query",
    instant: async (expression, seconds) => seriesOf(await asked(driver.instantQuery(expression, seconds * 1_000))),
    range: async (expression, { start, end, step }) =>
      seriesOf(await asked(driver.rangeQuery(expression, start * 1_000, end * 1_000, step))),
    labelValues: (label) => asked(driver.labelValues(label)),
    series: async (selector) =>
      (await asked(driver.series(selector, Date.now() - hourMs, Date.now()))).map(({ name, labels }) => ({
        ...(name === undefined ? {} : { __name__: name }),
        ...labels,
      })),
  };
}

function seriesOf({ result }: QueryResult): ClientAnswer {
  const series = result.map(({ metric, value, values = value === undefined ? [] : [value] }) => ({
    labels: metric.labels,
    points: values.map((point) => [point.time.getTime() / 1_000, point.value] as const),
  }));
  return { series };
}
