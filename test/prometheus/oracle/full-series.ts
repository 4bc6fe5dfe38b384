import { dataStartMs, random } from "../../runtime/metrics/oracle/generated-series.ts";
import type { WrittenSample, WrittenSeries } from "../../support/remote-write.ts";

/**
 * Data of which every series has a sample in each interval, so that a governed query and PromQL's own meaning agree. No
 * bucket of a histogram is ever empty: a percentile then changes little where its rank falls on an edge.
 */

/** Seconds between two samples of a series. */
export const intervalSeconds = 15;
/** All data, in seconds from `dataStartMs`. */
export const lengthSeconds = 3 * 3_600;

export const regions = ["eu", "latam"] as const;
export const tenants = ["brand-a", "brand-b"] as const;
export const environments = ["prod", "staging"] as const;
/** The last one needs escapes in PromQL's strings and in its regular expressions. */
export const services = ["api", "web", 'a.b|"c"\\d'] as const;
export const bounds = ["10", "100", "250", "1000", "+Inf"] as const;

/** A series with the labels of the one store that holds everything. */
export interface FullSeries extends WrittenSeries {
  readonly labels: Readonly<Record<string, string>>;
}

/** Everything, always the same for a seed. @param scaleOf a factor of all values of a tenant */
export function fullSeries(scaleOf: (tenant: string) => number = () => 1): readonly FullSeries[] {
  const next = random(20_261_123);
  return regions.flatMap((region) =>
    tenants.flatMap((tenant) =>
      environments.flatMap((env) =>
        services.flatMap((service) => seriesOf(next, { region, tenant, env, service }, scaleOf(tenant))),
      ),
    ),
  );
}

function seriesOf(next: () => number, labels: FullSeries["labels"], scale: number): readonly FullSeries[] {
  const offsetMs = Math.floor(next() * intervalSeconds * 1_000);
  const times = Array.from(
    { length: lengthSeconds / intervalSeconds },
    (_, index) => dataStartMs + index * intervalSeconds * 1_000 + offsetMs,
  );
  const steps = (): readonly number[] => times.map(() => scale * (1 + Math.floor(next() * 40)));
  const rows = times.map(() => bounds.map(() => scale * (1 + Math.floor(next() * 6))));
  const within = (count: number): readonly number[] =>
    rows.map((row) => row.slice(0, count).reduce((sum, one) => sum + one, 0));
  const counters: readonly (readonly [string, FullSeries["labels"], readonly number[]])[] = [
    ["payments_total", { ...labels, result: "ok" }, steps()],
    ["payments_total", { ...labels, result: "failed" }, steps()],
    ...bounds.map((le, index) => ["latency_bucket", { ...labels, le }, within(index + 1)] as const),
    ["latency_count", labels, within(bounds.length)],
    ["latency_sum", labels, steps()],
  ];
  return [
    { name: "lag_items", labels, samples: samplesOf(times, steps()) },
    ...counters.map(([name, own, added]) => ({ name, labels: own, samples: samplesOf(times, totals(added)) })),
    { name: "sizes", labels, samples: histograms(times, rows) },
  ];
}

function samplesOf(times: readonly number[], values: readonly number[]): readonly WrittenSample[] {
  return times.map((ms, index) => ({ ms, value: values[index] ?? 0 }));
}

function totals(added: readonly number[]): readonly number[] {
  let total = 0;
  return added.map((one) => (total += one));
}

/** Native histograms whose populated buckets are the rows' cells. */
function histograms(times: readonly number[], rows: readonly (readonly number[])[]): readonly WrittenSample[] {
  let counts = bounds.map(() => 0);
  return times.map((ms, index) => {
    counts = counts.map((count, bucket) => count + (rows[index]?.[bucket] ?? 0));
    const sum = counts.reduce((all, count, bucket) => all + count * 2 ** bucket, 0);
    const positive = new Map(counts.map((count, bucket) => [bucket, count] as const));
    const value = { schema: 0, sum, zeroCount: 0, zeroThreshold: 1e-128, positive, negative: new Map() } as const;
    return { ms, value };
  });
}
