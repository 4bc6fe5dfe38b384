import { mkdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { existsSync } from "node:fs";
import { makeBlocks, startPrometheus, type PrometheusHandle } from "../../support/prometheus.ts";
import { withLock } from "../../tools/lock.ts";

/** End of all data: a fixed day, so that the blocks are made once and every run reads the same points. */
export const endMs = Date.UTC(2026, 0, 15);
export const [hourMs, dayMs] = [3_600_000, 86_400_000];

/** How much a store holds. The small one is for a test of the harness. */
export interface StoreSize {
  readonly name: string;
  readonly days: number;
  /** Tenants with 50 series of a gauge each. */
  readonly gaugeTenants: number;
  /** Tenants with a histogram of 12 buckets and 8 targets each. */
  readonly histogramTenants: number;
  readonly histogramDays: number;
  /** Days of a "week": below `histogramDays`, so that it can move. */
  readonly weekDays: number;
  readonly series: number;
}

export const largeStore: StoreSize = {
  name: "large",
  days: 14,
  gaugeTenants: 8,
  histogramTenants: 4,
  histogramDays: 8,
  weekDays: 7,
  series: 2_280,
};
export const smallStore: StoreSize = {
  name: "small",
  days: 2,
  gaugeTenants: 1,
  histogramTenants: 2,
  histogramDays: 1,
  weekDays: 0.5,
  series: 250,
};

/** Part of the name of the kept blocks: another number whenever the samples change. */
const version = 4;
const bounds = ["5", "10", "25", "50", "100", "250", "500", "1000", "2500", "5000", "10000", "+Inf"];
const [lockMsMax, backfillMsMax] = [20 * 60_000, 15 * 60_000];
const minute = 60;

/** Starts a real Prometheus with these samples, whose blocks are made once and kept beside the built tools. */
export async function startLongStore(size: StoreSize, progress: (line: string) => void): Promise<PrometheusHandle> {
  const cache = join(homedir(), ".cache", "heliograph", "bench");
  const blocks = join(cache, `${size.name}-${size.days}-${version}`);
  await mkdir(cache, { recursive: true });
  await withLock(`${blocks}.lock`, { waitMs: lockMsMax, onWait: () => undefined }, async () => {
    if (existsSync(blocks)) return;
    progress(`making the blocks of ${size.series} series over ${size.days} days, once`);
    await rm(`${blocks}.new`, { recursive: true, force: true });
    await makeBlocks(samplesOf(size), `${blocks}.new`, backfillMsMax);
    await rename(`${blocks}.new`, blocks);
  });
  return startPrometheus({ blocks });
}

/** Samples in OpenMetrics text, a page of lines at a time. */
function* samplesOf(size: StoreSize): Iterable<string> {
  let left = size.series;
  for (let tenant = 0; tenant < size.gaugeTenants; tenant += 1) {
    for (let service = 0; service < 50; service += 1, left -= 1)
      yield* gauge(lagOf(tenant, service), size.days, minute);
  }
  for (let tenant = 0; tenant < size.histogramTenants; tenant += 1) {
    for (let pod = 0; pod < 8; pod += 1) {
      for (const [bucket, le] of bounds.entries()) {
        const labels = `tenant="brand-${tenant}",env="prod",service="web",pod="pod-${pod}",le="${le}"`;
        yield* series(
          `latency_bucket{${labels}}`,
          size.histogramDays,
          minute,
          (at) => at * (bucket + 1) * (1 + (pod % 3)),
        );
        left -= 1;
      }
    }
  }
  for (; left > 0; left -= 1) yield* gauge(`other{place="${left}"}`, size.days, 10 * minute);
  yield "# EOF\n";
}

function lagOf(tenant: number, service: number): string {
  const labels = `env="prod",service="${serviceName(service)}",component="c${service % 10}"`;
  return `lag{tenant="brand-${tenant}",${labels}}`;
}

export function serviceName(index: number): string {
  return `s${String(index).padStart(2, "0")}`;
}

/** Values that compress as those of a live gauge do, the same in every run. */
function gauge(name: string, days: number, interval: number): Iterable<string> {
  const seed = Buffer.from(name).reduce((sum, byte) => (sum * 31 + byte) % 9_973, 7);
  return series(name, days, interval, (at) => ((at * 736_879 + seed * 104_729) % 1_000_003) / 1_000);
}

function* series(name: string, days: number, interval: number, value: (at: number) => number): Iterable<string> {
  const [startSeconds, count] = [(endMs - days * dayMs) / 1_000, (days * 86_400) / interval];
  const page: string[] = [];
  for (let at = 0; at < count; at += 1) page.push(`${name} ${value(at)} ${startSeconds + at * interval}\n`);
  yield page.join("");
}
