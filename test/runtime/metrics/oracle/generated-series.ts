import { nativeHistograms } from "./generated-histograms.ts";
import type { WrittenSample } from "../../../support/remote-write.ts";

/**
 * Data as stores really hold it: resets, gaps, series that begin late or end early with and without a word, samples
 * that come late, labels that need escaping.
 */

/** Start of all data. */
export const dataStartMs = Date.parse("2026-01-01T00:00:00Z");
/** Fine data lasts this long, in seconds. */
export const fineSeconds = 4 * 3_600;
/** Coarse data lasts this long, in seconds: more than a week, for the windows that are downsampled. */
export const coarseSeconds = 9 * 86_400;
export const fineIntervalSeconds = 15;
export const coarseIntervalSeconds = 300;

export interface Sample {
  readonly ms: number;
  readonly value: number;
}

export type Shard = 0 | 1 | 2;

/** One series and the one of three shards that holds it when data is split. */
export interface GeneratedSeries {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly samples: readonly WrittenSample[];
  readonly shard: Shard;
}

/** When a target is scraped, and when it is told to be gone. */
interface Scrapes {
  readonly times: readonly number[];
  readonly staleTimes: readonly number[];
}

export const tenants = ["brand-a", "brand-b"] as const;
export const environments = ["prod", "staging"] as const;
export const services = ["web", "api", "pay"] as const;
/** The last one would end a matcher if it were not escaped. */
export const psps = ["acme", "übermorgen", 'say "hi"\\,psp=~".*"} or vector(1) #'] as const;
export const latencyBounds = ["5", "10", "25.0", "50", "100", "250", "1000", "+Inf"] as const;
/** Bounds that two shards do not share. */
const otherBounds = ["10", "20", "50", "200", "1000", "+Inf"] as const;

/** A small generator of numbers in [0, 1), the same on every machine. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Everything, always the same. */
export function generateSeries(): readonly GeneratedSeries[] {
  const next = random(20_260_101);
  const fine = targets().flatMap((labels, index) => {
    const scrapes = scrapesOf(next, index, { lengthSeconds: fineSeconds, interval: fineIntervalSeconds });
    const { times } = scrapes;
    const shard = ((index + Math.floor(index / 6)) % 3) as Shard;
    const { psp, result, ...target } = labels;
    const perTarget =
      psp === "acme" && result === "ok"
        ? [
            { name: "queue_lag", labels: target, samples: gauge(next, times), shard },
            { name: "flappy", labels: target, samples: flappy(next, times), shard },
            ...histogram(next, "latency_ms", target, times, latencyBounds, shard),
            ...histogram(next, "uneven_ms", target, times, shard === 0 ? otherBounds : latencyBounds, shard),
            ...nativeHistograms(next, target, times, shard),
          ]
        : [];
    const own: readonly GeneratedSeries[] = [
      { name: "payments_total", labels, samples: counter(next, times), shard },
      ...perTarget,
    ];
    return own.map((series) => withStaleMarkers(series, scrapes));
  });
  return [...fine, ...coarseSeries(next)];
}

/** The samples that come after everything else: one in a hundred, the same ones in every store. */
export function isLate({ name, labels }: GeneratedSeries, { ms }: WrittenSample): boolean {
  const text = `${name}${Object.values(labels).join()}${ms}`;
  const hash = Array.from(text).reduce(
    (mixed, char) => Math.imul(mixed ^ (char.codePointAt(0) ?? 0), 0x01000193),
    0x811c9dc5,
  );
  return (hash >>> 0) % 100 === 0;
}

function withStaleMarkers(series: GeneratedSeries, { staleTimes }: Scrapes): GeneratedSeries {
  const markers = staleTimes.map((ms): WrittenSample => ({ ms, value: "stale" }));
  return { ...series, samples: [...series.samples, ...markers].sort((a, b) => a.ms - b.ms) };
}

function targets(): readonly Readonly<Record<string, string>>[] {
  return tenants.flatMap((tenant) =>
    environments.flatMap((env) =>
      services.flatMap((service) =>
        psps.flatMap((psp) => ["ok", "failed"].map((result) => ({ tenant, env, service, psp, result }))),
      ),
    ),
  );
}

function coarseSeries(next: () => number): readonly GeneratedSeries[] {
  return tenants.flatMap((tenant) =>
    services.flatMap((service, index) => {
      const labels = { tenant, env: "prod", service };
      const { times } = scrapesOf(next, index + 3, { lengthSeconds: coarseSeconds, interval: coarseIntervalSeconds });
      const shard = (index % 3) as Shard;
      return [
        { name: "slow_gauge", labels, samples: gauge(next, times), shard },
        { name: "slow_total", labels, samples: counter(next, times), shard },
      ];
    }),
  );
}

interface ScrapeRange {
  readonly lengthSeconds: number;
  readonly interval: number;
}

/**
 * Scrapes of one target: its own offset, a little jitter; some lose runs of samples, begin late or end early, half of
 * them with a stale marker in place of the next sample.
 */
function scrapesOf(next: () => number, index: number, { lengthSeconds, interval }: ScrapeRange): Scrapes {
  // Every fourth target is scraped on whole intervals, so that samples lie on the very edge of ranges.
  const offsetMs = index % 4 === 0 ? 0 : Math.floor(next() * interval * 1_000);
  const jitterMs = index % 4 === 0 ? 0 : 40;
  const beginsLate = index % 7 === 5 ? Math.floor(lengthSeconds / 3) : 0;
  const endsEarly = index % 7 === 6 ? Math.floor(lengthSeconds / 3) : 0;
  const at = (second: number): number => dataStartMs + second * 1_000 + offsetMs;
  const times: number[] = [];
  const staleTimes: number[] = [];
  for (let second = beginsLate; second < lengthSeconds - endsEarly; second += interval) {
    if (next() < 0.01) {
      if (next() < 0.5) staleTimes.push(at(second) + 100);
      second += interval * Math.ceil(next() * 30);
    }
    times.push(at(second) + Math.floor(next() * jitterMs));
  }
  if (endsEarly > 0 && index % 2 === 0) staleTimes.push(at(lengthSeconds - endsEarly) + 100);
  return { times, staleTimes };
}

function gauge(next: () => number, times: readonly number[]): readonly Sample[] {
  let level = 50 + Math.floor(next() * 100);
  const fractional = next() < 0.5;
  return times.map((ms) => {
    level = Math.max(0, level + Math.floor(next() * 21) - 10);
    return { ms, value: fractional ? level + Math.round(next() * 1_000) / 1_000 : level };
  });
}

/** A gauge that is sometimes no number, now and then for longer than a point is wide. */
function flappy(next: () => number, times: readonly number[]): readonly Sample[] {
  let silent = 0;
  return gauge(next, times).map(({ ms, value }) => {
    silent = next() < 0.01 ? Math.ceil(next() * 20) : silent - 1;
    if (silent > 0) return { ms, value: Number.NaN };
    return { ms, value: next() < 0.01 ? Infinity : value };
  });
}

function counter(next: () => number, times: readonly number[]): readonly Sample[] {
  let total = Math.floor(next() * 1_000);
  const rate = next() < 0.2 ? 0.2 : 8;
  return times.map((ms) => {
    const reset = next() < 0.003;
    const step = Math.floor(next() * rate);
    total = reset ? step : total + step;
    return { ms, value: total };
  });
}

function histogram(
  next: () => number,
  name: string,
  labels: Readonly<Record<string, string>>,
  times: readonly number[],
  bounds: readonly string[],
  shard: Shard,
): readonly GeneratedSeries[] {
  let counts = bounds.map(() => 0);
  let sum = 0;
  const scrapes = times.map((ms) => {
    if (next() < 0.003) [counts, sum] = [bounds.map(() => 0), 0];
    for (let left = Math.floor(next() * 12); left > 0; left -= 1) {
      const observed = Math.round(Math.exp(next() * 7.5) * 100) / 100;
      sum += observed;
      counts = counts.map((count, index) => count + (observed <= boundOf(bounds[index]) ? 1 : 0));
    }
    return { ms, counts, sum };
  });
  const total = bounds.length - 1;
  return [
    ...bounds.map((le, index) => ({
      name: `${name}_bucket`,
      labels: { ...labels, le },
      samples: scrapes.map(({ ms, counts: own }) => ({ ms, value: own[index] ?? 0 })),
      shard,
    })),
    { name: `${name}_sum`, labels, samples: scrapes.map(({ ms, sum: value }) => ({ ms, value })), shard },
    {
      name: `${name}_count`,
      labels,
      samples: scrapes.map(({ ms, counts: own }) => ({ ms, value: own[total] ?? 0 })),
      shard,
    },
  ];
}

/** `le` as a number. */
export function boundOf(le: string | undefined): number {
  return le === "+Inf" ? Infinity : Number(le);
}

/** OpenMetrics text without types, for a backfill. */
export function* openMetrics(series: readonly GeneratedSeries[]): Iterable<string> {
  for (const one of [...series].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const labels = Object.entries(one.labels).map(([label, value]) => `${label}="${escapeLabel(value)}"`);
    const head = `${one.name}{${labels.join(",")}}`;
    yield one.samples.map(({ ms, value }) => `${head} ${sampleText(value)} ${ms / 1_000}\n`).join("");
  }
  yield "# EOF\n";
}

function escapeLabel(value: string): string {
  return value
    .replaceAll("\\", "\\\\")
    .replaceAll('"', String.raw`\"`)
    .replaceAll("\n", String.raw`\n`);
}

function sampleText(value: WrittenSample["value"]): string {
  if (typeof value === "object") throw new TypeError("text holds no native histograms");
  return value === Infinity ? "+Inf" : String(value === "stale" ? Number.NaN : value);
}
