import { beforeAll, describe, expect, test } from "vitest";
import { labelNames } from "../../crds/config.ts";
import { openMetrics } from "../../demo/series.ts";
import { type DemoStoreName, demoStores } from "../../demo/series-families.ts";
import { seriesCatalog } from "./series-catalog.ts";

const startMs = Date.UTC(2026, 2, 10, 12);
const endMs = startMs + 3 * 3_600_000;

interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly points: [seconds: number, value: number][];
}

function read(text: string): readonly Series[] {
  const series = new Map<string, Series>();
  for (const line of text.split("\n")) {
    const [, key = "", value, seconds] = /^(\w+\{[^}]*\}) (\S+) (\S+)$/u.exec(line) ?? [];
    if (key === "") continue;
    const one = series.get(key) ?? { name: key.split("{")[0] ?? "", labels: labelsOf(key), points: [] };
    series.set(key, one);
    one.points.push([Number(seconds), Number(value)]);
  }
  return [...series.values()];
}

function labelsOf(key: string): Readonly<Record<string, string>> {
  return Object.fromEntries([...key.matchAll(/(\w+)="([^"]*)"/gu)].map(([, name, value]) => [name, value]));
}

/** A busy machine needs many seconds for a day of series. */
const makeMsMax = 60_000;
const stores = Object.keys(demoStores) as readonly DemoStoreName[];

describe.each(stores)("the store %s", (store) => {
  const { labelMap, intervalSeconds } = demoStores[store];
  const inStore = (label: string): string => (labelMap as Readonly<Record<string, string>>)[label] ?? label;
  let text: string;
  let all: readonly Series[];
  beforeAll(() => {
    text = [...openMetrics({ store, startMs, endMs })].join("");
    all = read(text);
  }, makeMsMax);

  test("is the same every time", () => {
    expect([...openMetrics({ store, startMs, endMs })].join("") === text).toBe(true);
  });

  test("ends as OpenMetrics demands and declares each family once", () => {
    expect(text.endsWith("# EOF\n")).toBe(true);
    const declared = [...text.matchAll(/^# TYPE (\S+)/gmu)].map(([, name]) => name);
    expect(declared).toEqual([...new Set(declared)]);
  });

  test.each(seriesCatalog)(
    "holds $metric as the catalog says",
    ({ kind, series, labels, matchers = {}, numerator = {} }) => {
      const names = kind === "histogram" ? [`${series}_bucket`, `${series}_sum`, `${series}_count`] : [series];
      for (const name of names) {
        const members = all.filter((one) => one.name === name && matches(one, matchers));
        expect(members.length).toBeGreaterThan(0);
        expect(members.some((one) => matches(one, numerator))).toBe(true);
        const carried = ["region", "tenant", "environment", ...labels].map(inStore);
        for (const one of members) expect(Object.keys(one.labels)).toEqual(expect.arrayContaining(carried));
      }
    },
  );

  test("carries only governed labels and those that the catalog matches on", () => {
    const matched = seriesCatalog.flatMap(({ matchers = {}, numerator = {} }) =>
      Object.keys({ ...matchers, ...numerator }),
    );
    const known = new Set([...labelNames.map(inStore), ...matched, "le"]);
    const unknown = all.flatMap(({ labels }) => Object.keys(labels).filter((label) => !known.has(label)));
    expect(unknown).toEqual([]);
  });

  test("has its samples in order and an interval apart, but for gaps", () => {
    const apart = new Set(all.flatMap(({ points }) => differences(points, 0)).map((seconds) => Math.round(seconds)));
    expect(Math.min(...apart)).toBe(intervalSeconds);
    expect(apart.size).toBeGreaterThan(1);
  });

  test("has counters that only rise, but for a restart that takes them back to almost nothing", () => {
    const counters = all.filter(({ name }) => /_(?:total|bucket|count|sum)$/u.test(name));
    const drops = counters.flatMap(({ points }) => points.filter(([, value], i) => value < (points[i - 1]?.[1] ?? 0)));
    expect(drops.length).toBeGreaterThan(0);
    const largestRise = counters.flatMap(({ points }) => differences(points, 1)).reduce((a, b) => Math.max(a, b));
    expect(Math.max(...drops.map(([, value]) => value))).toBeLessThanOrEqual(largestRise);
  });

  test("has histograms whose buckets rise with their bounds and end at the count", () => {
    const buckets = all.filter(({ name }) => name.endsWith("_bucket"));
    for (const group of Map.groupBy(buckets, (one) => JSON.stringify([one.name, { ...one.labels, le: "" }])).values()) {
      const sorted = group.toSorted((a, b) => boundOf(a) - boundOf(b));
      const falls = sorted.slice(1).filter((one, i) => {
        return one.points.some(([, value], at) => value < (sorted[i]?.points[at]?.[1] ?? 0));
      });
      expect(falls).toEqual([]);
      const { le, ...labels } = sorted.at(-1)?.labels ?? {};
      expect(le).toBe("+Inf");
      const name = (sorted[0]?.name ?? "").replace(/_bucket$/u, "_count");
      const count = all.find((one) => one.name === name && matchesExactly(one.labels, labels));
      expect(sorted.at(-1)?.points).toEqual(count?.points);
    }
  });

  test("has the day's rhythm", () => {
    const day = startMs - (startMs % 86_400_000);
    const busy = eventsIn(store, day + (19 + demoStores[store].peakShiftHours) * 3_600_000);
    const quiet = eventsIn(store, day + (7 + demoStores[store].peakShiftHours) * 3_600_000);
    expect(busy / quiet).toBeGreaterThan(5);
  });
});

test("two windows agree on what happens where they overlap", () => {
  const late = { store: "eu" as const, startMs: startMs + 3_600_000, endMs: startMs + 2 * 3_600_000 };
  const short = increases(read([...openMetrics(late)].join("")), late.startMs + 60_000, late.endMs);
  const long = increases(
    read([...openMetrics({ store: "eu", startMs, endMs })].join("")),
    late.startMs + 60_000,
    late.endMs,
  );
  const both = [...short].filter(([key]) => long.has(key));
  expect(both.length).toBeGreaterThan(100);
  expect(both.filter(([key, increase]) => Math.abs(increase - (long.get(key) ?? 0)) > 1)).toEqual([]);
});

test("one payment provider of latam joins late", () => {
  const series = read([...openMetrics({ store: "latam", startMs, endMs })].join(""));
  const first = (psp: string): number =>
    Math.min(...series.filter(({ labels }) => labels["psp"] === psp).map(({ points }) => points[0]?.[0] ?? 0));
  expect(first("pixora")).toBeLessThan(startMs / 1_000 + 60);
  expect(first("globalpay")).toBeGreaterThan(startMs / 1_000 + 3_600);
});

test("the first payment provider declines more while it is in trouble", () => {
  const declines = (fromHour: number): number => {
    const from = Date.UTC(2026, 2, 10, 14, fromHour);
    const series = read([...openMetrics({ store: "eu", startMs: from, endMs: from + 1_800_000 })].join(""));
    const authorizations = series.filter(
      ({ name, labels }) => name === "psp_authorizations_total" && labels["psp"] === "nordpay",
    );
    const total = (members: readonly Series[]): number =>
      members.reduce((sum, { points }) => sum + (points.at(-1)?.[1] ?? 0), 0);
    return total(authorizations.filter(({ labels }) => labels["result"] === "soft_decline")) / total(authorizations);
  };
  expect(declines(15)).toBeGreaterThan(5 * declines(-45));
});

function matches({ labels }: Series, patterns: Readonly<Record<string, string>>): boolean {
  return Object.entries(patterns).every(([label, pattern]) =>
    new RegExp(`^(?:${pattern})$`, "u").test(labels[label] ?? ""),
  );
}

function matchesExactly(labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(labels);
  return names.length === Object.keys(wanted).length && names.every((name) => labels[name] === wanted[name]);
}

function boundOf({ labels }: Series): number {
  return labels["le"] === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels["le"]);
}

function differences(points: Series["points"], column: 0 | 1): readonly number[] {
  return points.slice(1).map((point, i) => point[column] - (points[i]?.[column] ?? 0));
}

/** What the login counters gained in the half hour from an instant on. */
function eventsIn(store: DemoStoreName, fromMs: number): number {
  const series = read([...openMetrics({ store, startMs: fromMs, endMs: fromMs + 1_800_000 })].join(""));
  return [...increases(series, fromMs, fromMs + 1_800_000)]
    .filter(([key]) => key.startsWith("auth_attempts_total"))
    .reduce((sum, [, increase]) => sum + increase, 0);
}

/** By series without restart: last value minus first value in a window. */
function increases(series: readonly Series[], fromMs: number, toMs: number): ReadonlyMap<string, number> {
  const counters = series.filter(({ name }) => name.endsWith("_total"));
  return new Map(
    counters.flatMap(({ name, labels, points }) => {
      const inside = points.filter(([seconds]) => seconds * 1_000 >= fromMs && seconds * 1_000 < toMs);
      const restarted = differences(inside, 1).some((rise) => rise < 0);
      if (restarted || inside.length === 0) return [];
      return [[`${name}${JSON.stringify(labels)}`, (inside.at(-1)?.[1] ?? 0) - (inside[0]?.[1] ?? 0)] as const];
    }),
  );
}
