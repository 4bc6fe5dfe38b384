import type { RawHistogram } from "../runtime/metrics/oracle/native-functions.ts";
import { firstAfter } from "../runtime/metrics/oracle/range-functions.ts";
import type { RawSeries } from "../runtime/metrics/oracle/recompute.ts";
import type { Region } from "./catalog.ts";
import { shownHistogram, type Scraped } from "./targets.ts";

/** One write: the store holds all of it after `ackedMs`, and nothing before `sentMs`. */
interface Batch {
  readonly sentMs: number;
  readonly ackedMs: number;
}

interface KeptSample {
  readonly ms: number;
  readonly value: number | RawHistogram;
  /** Place of the write that brought it. */
  readonly batch: number;
}

interface KeptSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly samples: KeptSample[];
}

/** An exemplar and the series that it is of. */
export interface KeptExemplar {
  readonly labels: Readonly<Record<string, string>>;
  readonly name: string;
  readonly ms: number;
  readonly value: number;
}

/** A part of what a store holds: the samples of some series in (from, to]. */
export interface Slice {
  /** Places of the writes after one place and up to another that brought any of these samples. */
  batches(after: number, upTo: number): readonly number[];
  /** As the store had it when it held all writes up to a place. */
  at(batch: number): readonly RawSeries[];
  /** The samples of a shorter time. */
  narrowed(fromMs: number, toMs: number): Slice;
}

/** Every sample that a store was ever sent, with the write that brought it. Writes to a store never overlap. */
export interface StoreRecord {
  readonly region: Region;
  add(samples: readonly Scraped[], batch: Batch): void;
  /** Places of the last write that was surely there at one time, and of the last one that may have been at another. */
  states(fromMs: number, toMs: number): readonly [sure: number, possible: number];
  /** When a write that a place names may have become visible. */
  batch(place: number): Batch | undefined;
  slice(name: string, wanted: Readonly<Record<string, string>>, fromMs: number, toMs: number): Slice;
  exemplar(traceId: string): KeptExemplar | undefined;
  /** Forgets samples from before a time. */
  forget(beforeMs: number): void;
}

/** An empty store's. */
export function createStoreRecord(region: Region): StoreRecord {
  const byName = new Map<string, Map<string, KeptSeries>>();
  const batches: Batch[] = [];
  const exemplars = new Map<string, KeptExemplar>();
  return {
    region,
    add(samples, batch) {
      batches.push(batch);
      const place = batches.length - 1;
      for (const sample of samples) {
        const { name, labels, ms, exemplar } = sample;
        insert(seriesOf(byName, sample, region), sample, place);
        if (exemplar !== undefined)
          exemplars.set(exemplar.traceId, { labels: { ...labels, region }, name, ms, value: exemplar.value });
      }
    },
    states: (fromMs, toMs) => [
      batches.findLastIndex(({ ackedMs }) => ackedMs <= fromMs),
      batches.findLastIndex(({ sentMs }) => sentMs <= toMs),
    ],
    batch: (place) => batches[place],
    slice(name, wanted, fromMs, toMs) {
      const series = [...(byName.get(name)?.values() ?? [])].filter(({ labels }) =>
        Object.entries(wanted).every(([label, value]) => labels[label] === value),
      );
      return sliceOf(series, region).narrowed(fromMs, toMs);
    },
    exemplar: (traceId) => exemplars.get(traceId),
    forget(beforeMs) {
      for (const [traceId, { ms }] of exemplars) if (ms < beforeMs) exemplars.delete(traceId);
      for (const { samples } of [...byName.values()].flatMap((all) => [...all.values()]))
        samples.splice(0, firstAfter(samples, beforeMs));
    },
  };
}

function seriesOf(byName: Map<string, Map<string, KeptSeries>>, { name, labels }: Scraped, region: Region): KeptSeries {
  const all = byName.get(name) ?? new Map<string, KeptSeries>();
  byName.set(name, all);
  const key = JSON.stringify(labels);
  const series = all.get(key) ?? { labels: { ...labels, region, __name__: name }, samples: [] };
  all.set(key, series);
  return series;
}

/** Samples are kept in the order of their times, whenever they come. */
function insert({ samples }: KeptSeries, { ms, value }: Scraped, batch: number): void {
  if (value === "stale") return;
  samples.splice(firstAfter(samples, ms), 0, {
    ms,
    value: typeof value === "number" ? value : shownHistogram(value),
    batch,
  });
}

function sliceOf(series: readonly KeptSeries[], region: Region): Slice {
  return {
    batches: (after, upTo) =>
      [
        ...new Set(
          series.flatMap(({ samples }) =>
            samples.map(({ batch }) => batch).filter((batch) => batch > after && batch <= upTo),
          ),
        ),
      ].sort((a, b) => a - b),
    at: (upTo) =>
      series.map(({ labels, samples }) => {
        const there = samples.filter(({ batch }) => batch <= upTo);
        return {
          labels,
          store: region,
          samples: there.flatMap(({ ms, value }) => (typeof value === "number" ? [{ ms, value }] : [])),
          histograms: there.flatMap(({ ms, value }) => (typeof value === "number" ? [] : [{ ms, value }])),
        };
      }),
    narrowed: (fromMs, toMs) =>
      sliceOf(
        series.map(({ labels, samples }) => ({
          labels,
          samples: samples.slice(firstAfter(samples, fromMs), firstAfter(samples, toMs)),
        })),
        region,
      ),
  };
}
