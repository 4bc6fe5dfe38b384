// Stores with a day of series, and partners, for two programs: `heliograph up` (`cli/serving/run-up.ts`) and
// `make demo` (`test/demo/main.ts`). No command and no test is here.
import { noise, normalShareBelow, seedOf } from "./noise.ts";
import {
  type CounterFamily,
  type DemoStore,
  type DemoStoreName,
  demoStores,
  demoTenants,
  type Dimensions,
  type Family,
  families,
  type GaugeFamily,
  type HistogramFamily,
} from "./series-families.ts";

/** Which part of time to write, and of which store. */
interface SeriesWindow {
  readonly store: DemoStoreName;
  /** Unix milliseconds. */
  readonly startMs: number;
  /**
   * Unix milliseconds, exclusive. An end in the future is fine: as time passes, a store that was filled so shows what a
   * scraped one would.
   */
  readonly endMs: number;
}

/** What one scrape of one process gives: its labels, when it is scraped, and what goes wrong with it. */
interface Target {
  readonly family: Family;
  readonly store: DemoStore;
  readonly seed: number;
  /** Labels in the store's own names, written as in the text format, without braces. */
  readonly labels: string;
  readonly isTroubled: boolean;
  readonly firstMs: number;
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const peakHour = 19;
const troubleStartMs = 14 * hourMs + 10 * minuteMs;
const troubleMs = 40 * minuteMs;
const troubleFactor = 6;
const gapEveryMs = 8 * hourMs;
const gapMs = 6 * minuteMs;
const burstMs = 6 * minuteMs;
const burstShare = 0.015;
const slowShare = 0.02;
const slowFactor = 8;
/** The provider that joins when this much of the window has passed. */
const lateStarter = { region: "latam", psp: "globalpay", windowShare: 0.4 };

/**
 * The series of one store as OpenMetrics text, in pieces, family by family and each series in order of time. What
 * happens at an instant depends on the series and the instant alone, so that two windows agree on every increase where
 * they overlap, except for a rounded event; counters start with the window. Processes restart (counters go back to 0),
 * some scrapes fail for minutes, one provider joins late, and the first provider is in trouble from 14:10 to 14:50 UTC.
 */
export function* openMetrics(window: SeriesWindow): Generator<string> {
  const store = demoStores[window.store];
  for (const [name, members] of Map.groupBy(families, (family) => family.name)) {
    yield `# TYPE ${name.replace(/_total$/u, "")} ${members[0]?.kind ?? "unknown"}\n`;
    for (const target of members.flatMap((family) => targetsOf(family, store, window))) yield* linesOf(target, window);
  }
  yield "# EOF\n";
}

function targetsOf(family: Family, store: DemoStore, window: SeriesWindow): readonly Target[] {
  const environments = family.staging === true && store.region === "eu" ? ["prod", "staging"] : ["prod"];
  const places = { tenant: demoTenants, environment: environments, ...family.dimensions(store) };
  return combinations(places)
    .filter(({ tenant, environment }) => environment === "prod" || tenant === demoTenants[0])
    .map((governed) => {
      const isLate = store.region === lateStarter.region && governed["psp"] === lateStarter.psp;
      return {
        family,
        store,
        seed: seedOf(JSON.stringify([store.region, family.name, governed])),
        labels: labelText({ region: store.regionLabel, ...governed }, store),
        isTroubled: governed["psp"] === store.psps[0],
        firstMs: window.startMs + (isLate ? (window.endMs - window.startMs) * lateStarter.windowShare : 0),
      };
    });
}

function combinations(dimensions: Dimensions): readonly Readonly<Record<string, string>>[] {
  return Object.entries(dimensions).reduce<readonly Readonly<Record<string, string>>[]>(
    (made, [label, values]) => made.flatMap((labels) => values.map((value) => ({ ...labels, [label]: value }))),
    [{}],
  );
}

function labelText(governed: Readonly<Record<string, string>>, store: DemoStore): string {
  return Object.entries(governed)
    .map(([label, value]) => `${store.labelMap[label] ?? label}="${value}"`)
    .join(",");
}

function linesOf(target: Target, window: SeriesWindow): Generator<string> {
  const { family } = target;
  switch (family.kind) {
    case "counter":
      return counterLines(family, target, window);
    case "gauge":
      return gaugeLines(family, target, window);
    case "histogram":
      return histogramLines(family, target, window);
  }
}

/** One scrape: its number since 1970, its instant, and whether the process restarted since the one before. */
interface Scrape {
  readonly index: number;
  readonly atMs: number;
  readonly restarted: boolean;
  /** Whether the scrape failed: the process counts on, and no store has it. */
  readonly failed: boolean;
}

function* scrapesOf(target: Target, window: SeriesWindow): Generator<Scrape> {
  const intervalMs = target.store.intervalSeconds * secondMs;
  const phaseMs = Math.floor(noise(target.seed, 1) * intervalMs);
  const lifeMs = Math.floor((9 + 14 * noise(target.seed, 2)) * hourMs);
  const hasGaps = noise(target.seed, 3) < 0.15;
  const gapPhaseMs = Math.floor(noise(target.seed, 4) * gapEveryMs);
  for (let index = Math.ceil((target.firstMs - phaseMs) / intervalMs); ; index += 1) {
    const atMs = index * intervalMs + phaseMs;
    if (atMs >= window.endMs) return;
    const restarted = Math.floor(atMs / lifeMs) !== Math.floor((atMs - intervalMs) / lifeMs);
    yield { index, atMs, restarted, failed: hasGaps && (atMs + gapPhaseMs) % gapEveryMs < gapMs };
  }
}

function* counterLines(family: CounterFamily, target: Target, window: SeriesWindow): Generator<string> {
  const ways = Object.keys(family.shares);
  const starts = ways.map((way) => `${family.name}{${target.labels},${family.label}="${way}"} `);
  const texts = ways.map(() => "");
  const counts = new CarriedCounts(ways.length);
  for (const scrape of scrapesOf(target, window)) {
    if (scrape.restarted) counts.reset();
    const events = eventsSince(family.perSecond, target, scrape);
    const shares = sharesAt(family, target, scrape.atMs);
    ways.forEach((_, i) => counts.add(i, events * (shares[i] ?? 0) * wobble(target.seed + i, scrape.index)));
    if (scrape.failed) continue;
    const at = scrape.atMs / secondMs;
    ways.forEach((_, i) => (texts[i] += `${starts[i] ?? ""}${counts.at(i)} ${at}\n`));
  }
  yield* texts;
}

function* gaugeLines(family: GaugeFamily, target: Target, window: SeriesWindow): Generator<string> {
  const start = `${family.name}{${target.labels}} `;
  let text = "";
  for (const scrape of scrapesOf(target, window)) {
    if (scrape.failed) continue;
    const calm = family.low + (family.peak - family.low) * rhythm(target.store, scrape.atMs);
    const bursts = noise(target.seed + 7, Math.floor(scrape.atMs / burstMs)) < burstShare;
    const value = (bursts ? family.burst : calm) * wobble(target.seed, scrape.index);
    text += `${start}${Math.min(value, family.burst).toFixed(family.decimals)} ${scrape.atMs / secondMs}\n`;
  }
  yield text;
}

function* histogramLines(family: HistogramFamily, target: Target, window: SeriesWindow): Generator<string> {
  const bucketStarts = [...family.bounds.map(boundText), "+Inf"].map(
    (le) => `${family.name}_bucket{${target.labels},le="${le}"} `,
  );
  const counts = new CarriedCounts(bucketStarts.length);
  const typical = typicalValues(family.bounds);
  let text = "";
  for (const scrape of scrapesOf(target, window)) {
    if (scrape.restarted) counts.reset();
    const events = eventsSince(family.perSecond, target, scrape);
    const shares = bucketShares(family, medianAt(family, target, scrape.atMs));
    shares.forEach((share, i) => counts.add(i, events * share * wobble(target.seed + i, scrape.index)));
    if (scrape.failed) continue;
    const at = scrape.atMs / secondMs;
    let [below, sum] = [0, 0];
    bucketStarts.forEach((start, i) => {
      below += counts.at(i);
      sum += counts.at(i) * (typical[i] ?? 0);
      text += `${start}${below} ${at}\n`;
    });
    text += `${family.name}_sum{${target.labels}} ${Number(sum.toPrecision(12))} ${at}\n`;
    text += `${family.name}_count{${target.labels}} ${below} ${at}\n`;
  }
  yield text;
}

/** Whole counts from fractional increments, whose remainders are carried on so that rare events are not lost. */
class CarriedCounts {
  readonly #whole: number[];
  readonly #rest: number[];

  constructor(length: number) {
    this.#whole = Array.from({ length }, () => 0);
    this.#rest = Array.from({ length }, () => 0);
  }

  add(index: number, increment: number): void {
    const sum = (this.#rest[index] ?? 0) + increment;
    const whole = Math.floor(sum);
    this.#whole[index] = this.at(index) + whole;
    this.#rest[index] = sum - whole;
  }

  at(index: number): number {
    return this.#whole[index] ?? 0;
  }

  reset(): void {
    this.#whole.fill(0);
  }
}

/** From 0.1 at the day's low to 1 at its peak. */
function rhythm(store: DemoStore, atMs: number): number {
  const hour = (atMs % dayMs) / hourMs - store.peakShiftHours;
  const wave = 0.5 + 0.5 * Math.cos(((hour - peakHour) / 24) * 2 * Math.PI);
  return 0.1 + 0.9 * wave ** 1.5;
}

/** About 1, different at every scrape. */
function wobble(seed: number, index: number): number {
  return 0.85 + 0.3 * noise(seed, index);
}

function eventsSince(perSecond: number, target: Target, scrape: Scrape): number {
  const size = 0.5 + noise(target.seed, 5);
  return perSecond * size * target.store.intervalSeconds * rhythm(target.store, scrape.atMs);
}

function isTroubled(target: Target, atMs: number): boolean {
  const sinceStart = (atMs % dayMs) - troubleStartMs;
  return target.isTroubled && sinceStart >= 0 && sinceStart < troubleMs;
}

function sharesAt(family: CounterFamily, target: Target, atMs: number): readonly number[] {
  const entries = Object.entries(family.shares);
  if (family.troubled === undefined || !isTroubled(target, atMs)) return entries.map(([, share]) => share);
  const grown = (family.shares[family.troubled] ?? 0) * troubleFactor;
  const [largest] = entries.reduce((a, b) => (b[1] > a[1] ? b : a));
  const taken = grown - (family.shares[family.troubled] ?? 0);
  return entries.map(([way, share]) => {
    if (way === family.troubled) return grown;
    return way === largest ? share - taken : share;
  });
}

function medianAt(family: HistogramFamily, target: Target, atMs: number): number {
  const load = 1 + 0.4 * rhythm(target.store, atMs);
  return family.median * load * (isTroubled(target, atMs) ? troubleFactor : 1);
}

/** Share of the observations in each bucket: most are near the median, some are much slower. */
function bucketShares(family: HistogramFamily, median: number): readonly number[] {
  const below = family.bounds.map((bound) => {
    const usual = normalShareBelow(Math.log(bound / median) / family.spread);
    const slow = normalShareBelow(Math.log(bound / (median * slowFactor)) / family.spread);
    return (1 - slowShare) * usual + slowShare * slow;
  });
  return [...below, 1].map((share, i) => share - (i === 0 ? 0 : (below[i - 1] ?? 0)));
}

/** A value that stands for a bucket in the histogram's sum: the geometric middle of its bounds. */
function typicalValues(bounds: readonly number[]): readonly number[] {
  const last = bounds.at(-1) ?? 0;
  return [...bounds.map((bound, i) => Math.sqrt(bound * (bounds[i - 1] ?? bound / 4))), last * 1.5];
}

/** OpenMetrics writes a bound as a float: `5.0`. */
function boundText(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}
