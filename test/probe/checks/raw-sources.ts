import { kinds, type ResponseGrid, type AskedSeries, type MetricId } from "../../runtime/metrics/oracle/asked.ts";
import type { RawSeries } from "../../runtime/metrics/oracle/recompute.ts";
import type { Slice, StoreRecord } from "../store-record.ts";

/** The raw samples of one metric in one store. */
export interface RawSource {
  readonly record: StoreRecord;
  readonly slices: readonly (readonly [name: string, slice: Slice])[];
}

/** How far before a point's begin a sample may count: an anchored increase begins with the last one before it. */
const lookbackMs = 300_000;

/** What one store holds of a metric, as far as a window can be made of it. */
export function sourceOf(
  record: StoreRecord,
  { metric, tenant }: AskedSeries,
  { fromMs, toMs, stepSeconds }: ResponseGrid,
): RawSource {
  const slices = namesOf(metric).map(
    (name) => [name, record.slice(name, { tenant }, fromMs - stepSeconds * 1_000 - lookbackMs, toMs)] as const,
  );
  return { record, slices };
}

function namesOf(metric: MetricId): readonly string[] {
  const { kind, name } = kinds[metric];
  return kind === "histogram" || kind === "anchoredHistogram"
    ? ["_bucket", "_sum", "_count"].map((suffix) => `${name}${suffix}`)
    : [name];
}

/** The samples that one point can be made of. */
export function narrowed({ record, slices }: RawSource, ms: number, { stepSeconds }: ResponseGrid): RawSource {
  return {
    record,
    slices: slices.map(([name, slice]) => [name, slice.narrowed(ms - stepSeconds * 1_000 - lookbackMs, ms)] as const),
  };
}

/** What stores held together, each when it held all writes up to a place. */
export function rawOf(
  sources: readonly RawSource[],
  states: readonly number[],
  keep: (series: RawSeries) => boolean,
): (name: string) => readonly RawSeries[] {
  return (name) =>
    sources.flatMap(
      ({ slices }, index) =>
        slices
          .find(([own]) => own === name)?.[1]
          .at(states[index] ?? -1)
          .filter((series) => keep(series)) ?? [],
    );
}
