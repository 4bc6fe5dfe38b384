import { startPrometheus, type PrometheusHandle } from "../support/prometheus.ts";

/** End of all data: a whole hour, so that windows of every step end with it. */
export const endMs = Math.floor(Date.now() / 3_600_000) * 3_600_000;

/** Bounds of the buckets of `latency`. */
const bounds = ["5", "10", "25", "50", "100", "250", "500", "1000", "2500", "5000", "10000", "+Inf"];

/** A store and how much it holds. */
interface BenchStore {
  readonly server: PrometheusHandle;
  readonly samples: number;
}

/** 50 series of a gauge and of a counter, every 15 s for four hours. */
export async function startRecentStore(): Promise<BenchStore> {
  const services = Array.from({ length: 50 }, (_, index) => `s${String(index).padStart(2, "0")}`);
  const series = services.flatMap((service, index) => [
    {
      name: `lag{tenant="brand-a",env="prod",service="${service}"}`,
      value: (at: number) => 50 + ((at * 7 + index * 13) % 101),
    },
    {
      name: `payments_total{tenant="brand-a",env="prod",service="${service}"}`,
      value: (at: number) => at * (index + 1),
    },
  ]);
  return startStore(series, { seconds: 4 * 3_600, interval: 15 });
}

/** A classic histogram of 12 buckets and 8 targets, every minute for eight days. */
export async function startWeekStore(region: number): Promise<BenchStore> {
  const targets = Array.from({ length: 8 }, (_, index) => `pod-${index}`);
  const series = targets.flatMap((pod, index) =>
    bounds.map((le, bucket) => ({
      name: `latency_bucket{tenant="brand-a",env="prod",service="web",pod="${pod}",le="${le}"}`,
      value: (at: number) => at * (bucket + 1) * (1 + ((index + region) % 3)),
    })),
  );
  return startStore(series, { seconds: 8 * 86_400, interval: 60 });
}

interface BenchSeries {
  readonly name: string;
  /** Of the sample of this number. */
  readonly value: (at: number) => number;
}

async function startStore(
  series: readonly BenchSeries[],
  length: { readonly seconds: number; readonly interval: number },
): Promise<BenchStore> {
  const server = await startPrometheus({ openMetrics: textOf(series, length) });
  return { server, samples: (series.length * length.seconds) / length.interval };
}

function* textOf(
  series: readonly BenchSeries[],
  { seconds, interval }: { readonly seconds: number; readonly interval: number },
): Iterable<string> {
  for (const { name, value } of series) {
    for (let at = 0; at < seconds / interval; at += 1)
      yield `${name} ${value(at)} ${endMs / 1_000 - seconds + at * interval}\n`;
  }
  yield "# EOF\n";
}
