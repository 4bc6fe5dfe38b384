import { latencyBounds } from "../runtime/metrics/oracle/generated-series.ts";
import type { RawHistogram } from "../runtime/metrics/oracle/native-functions.ts";
import type { WrittenExemplar, WrittenHistogram } from "../support/remote-write.ts";
import { intervalSeconds } from "./catalog.ts";

export const tenants = ["brand-a", "brand-b"] as const;
export const environments = ["prod", "staging"] as const;
export const services = ["web", "pay"] as const;

/** One sample of one series as a scrape finds it. */
export interface Scraped {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ms: number;
  readonly value: number | "stale" | WrittenHistogram;
  readonly exemplar?: WrittenExemplar | undefined;
  /** Whether it may be written after others: what lies in several series is read at once or not at all. */
  readonly mayBeLate: boolean;
}

/** Something that is scraped. */
interface Target {
  /** Every scrape after the last ones, up to a time. */
  scrapes(untilMs: number): readonly Scraped[];
}

const zeroThreshold = 0.001;
const schema = 2;

/** Every target of one store. @param fromMs when its scrapes begin */
export function makeTargets(next: () => number, fromMs: number): readonly Target[] {
  return tenants.flatMap((tenant) =>
    environments.flatMap((env) =>
      services.map((service) =>
        makeTarget(next, { tenant, env, service }, fromMs + Math.floor(next() * intervalSeconds * 1_000)),
      ),
    ),
  );
}

/** Whether each sample is its own series' only one at its time; false for scrapes that are paused. */
function makeTarget(next: () => number, labels: Readonly<Record<string, string>>, fromMs: number): Target {
  const state = {
    level: 50,
    ok: 0,
    failed: 0,
    counts: latencyBounds.map(() => 0),
    sum: 0,
    native: emptyHistogram(),
    pausedUntilMs: 0,
  };
  let nextMs = fromMs;
  const observe = (): void => {
    for (let left = Math.floor(next() * 6); left > 0; left -= 1) {
      const value = Math.round(Math.exp(next() * 7.5));
      state.sum += value;
      state.counts = state.counts.map((count, index) => count + (value <= boundOf(latencyBounds[index] ?? "") ? 1 : 0));
      state.native = withObservation(state.native, value);
    }
  };
  const scrape = (ms: number): readonly Scraped[] => {
    state.level = Math.max(0, state.level + Math.floor(next() * 21) - 10);
    const restarts = next() < 0.005;
    state.ok = (restarts ? 0 : state.ok) + Math.floor(next() * 9);
    state.failed = (restarts ? 0 : state.failed) + Math.floor(next() * 3);
    observe();
    const one = (
      name: string,
      value: number | WrittenHistogram,
      mayBeLate: boolean,
      more: Readonly<Record<string, string>> = {},
    ): Scraped => ({ name, labels: { ...labels, ...more }, ms, value, mayBeLate });
    return [
      { ...one("queue_lag", state.level, true), exemplar: exemplarOf(next, state.level) },
      { ...one("payments_total", state.ok, true, { result: "ok" }), exemplar: exemplarOf(next, state.ok) },
      one("payments_total", state.failed, true, { result: "failed" }),
      ...latencyBounds.map((le, index) => one("latency_ms_bucket", state.counts[index] ?? 0, false, { le })),
      one("latency_ms_sum", state.sum, false),
      one("latency_ms_count", state.counts.at(-1) ?? 0, false),
      one("native_ms", state.native, true),
    ];
  };
  return {
    scrapes(untilMs) {
      const found: Scraped[] = [];
      for (; nextMs <= untilMs; nextMs += intervalSeconds * 1_000) {
        const ms = nextMs + Math.floor(next() * 50);
        if (next() < 0.004) state.pausedUntilMs = ms + Math.floor(next() * 20_000);
        if (ms >= state.pausedUntilMs) found.push(...scrape(ms));
      }
      return found;
    },
  };
}

const exemplarShare = 0.1;

function exemplarOf(next: () => number, value: number): WrittenExemplar | undefined {
  if (next() >= exemplarShare) return undefined;
  const digits = Array.from({ length: 32 }, () => Math.floor(next() * 16).toString(16));
  return { traceId: digits.join(""), value };
}

function boundOf(le: string): number {
  return le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le);
}

function emptyHistogram(): WrittenHistogram {
  return { schema, sum: 0, zeroCount: 0, zeroThreshold, positive: new Map(), negative: new Map() };
}

function withObservation(before: WrittenHistogram, value: number): WrittenHistogram {
  const index = Math.ceil(Math.log2(value) * 2 ** schema);
  const positive = new Map(before.positive).set(index, (before.positive.get(index) ?? 0) + 1);
  return { ...before, sum: before.sum + value, positive };
}

/** A histogram as a store shows it. */
export function shownHistogram({ sum, zeroCount, positive }: WrittenHistogram): RawHistogram {
  const edge = (index: number): number => 2 ** (index / 2 ** schema);
  const buckets = [...positive]
    .sort(([a], [b]) => a - b)
    .map(([index, count]) => ({ lower: edge(index - 1), upper: edge(index), count }));
  return { count: [...positive.values()].reduce((total, own) => total + own, zeroCount), sum, buckets };
}
