import type { WrittenHistogram, WrittenSample } from "../../../support/remote-write.ts";
import type { GeneratedSeries, Shard } from "./generated-series.ts";

/** Schema and zero threshold of each shard's exponential histograms. */
const exponentialLayouts = [
  { schema: 3, zeroThreshold: 0.001 },
  { schema: 1, zeroThreshold: 0.5 },
  { schema: 0, zeroThreshold: 0.001 },
] as const;
/** Powers of two, which exponential buckets might have as well. */
const sizeBounds = [256, 512, 1_024, 2_048, 4_096, 8_192, 16_384];
/** Bounds that two shards do not share. */
const unevenBounds = [sizeBounds, [300, 1_024, 3_000, 16_384], [100, 1_024, 2_048, 10_000]] as const;

type Labels = Readonly<Record<string, string>>;

/** Native histograms of every layout, with resets. */
export function nativeHistograms(
  next: () => number,
  labels: Labels,
  times: readonly number[],
  shard: Shard,
): readonly GeneratedSeries[] {
  const { schema, zeroThreshold } = exponentialLayouts[shard];
  return [
    {
      name: "native_ms",
      labels,
      samples: cumulative(
        next,
        times,
        exponentialHistogram(schema, zeroThreshold),
        labels["service"] === "pay" ? small : signed,
      ),
      shard,
    },
    { name: "sizes", labels, samples: cumulative(next, times, customHistogram(sizeBounds), size), shard },
    {
      name: "uneven_sizes",
      labels,
      samples: cumulative(next, times, customHistogram(unevenBounds[shard]), size),
      shard,
    },
  ];
}

/** Mostly positive, now and then nothing or negative. */
function signed(next: () => number): number {
  const kind = next();
  if (kind < 0.05) return 0;
  const value = Math.round(Math.exp(next() * 7.5) * 100) / 100;
  return kind < 0.1 ? -value : value;
}

/** On both sides of every zero threshold. */
function small(next: () => number): number {
  return Math.round(next() ** 2 * 2_000) / 1_000;
}

/** In the middle of the bounds nearly always, so that the first and the last bucket are often empty. */
function size(next: () => number): number {
  return Math.round(2 ** (next() < 0.002 ? 20 * next() : 8.5 + next() * 5));
}

type Observe = (before: WrittenHistogram | undefined, values: readonly number[]) => WrittenHistogram;

function cumulative(
  next: () => number,
  times: readonly number[],
  observe: Observe,
  value: (next: () => number) => number,
): readonly WrittenSample[] {
  let total: WrittenHistogram | undefined;
  return times.map((ms) => {
    if (next() < 0.003) total = undefined;
    const values = Array.from({ length: Math.floor(next() * 8) }, () => value(next));
    total = observe(total, values);
    return { ms, value: total };
  });
}

function exponentialHistogram(schema: number, zeroThreshold: number): Observe {
  return (before, values) => {
    const index = (value: number): number => Math.ceil(Math.log2(Math.abs(value)) * 2 ** schema);
    const isZero = (value: number): boolean => Math.abs(value) <= zeroThreshold;
    return {
      schema,
      zeroThreshold,
      zeroCount: (before?.zeroCount ?? 0) + values.filter(isZero).length,
      sum: add(before?.sum, values),
      positive: counted(before?.positive, values.filter((value) => value > 0 && !isZero(value)).map(index)),
      negative: counted(before?.negative, values.filter((value) => value < 0 && !isZero(value)).map(index)),
    };
  };
}

function customHistogram(bounds: readonly number[]): Observe {
  return (before, values) => {
    const index = (value: number): number => bounds.filter((bound) => value > bound).length;
    return {
      schema: "custom",
      bounds,
      zeroThreshold: 0,
      zeroCount: 0,
      sum: add(before?.sum, values),
      positive: counted(before?.positive, values.map(index)),
      negative: new Map(),
    };
  };
}

function counted(
  before: ReadonlyMap<number, number> | undefined,
  indexes: readonly number[],
): ReadonlyMap<number, number> {
  const counts = new Map(before);
  for (const index of indexes) counts.set(index, (counts.get(index) ?? 0) + 1);
  return counts;
}

function add(sum: number | undefined, values: readonly number[]): number {
  return values.reduce((total, value) => total + value, sum ?? 0);
}
