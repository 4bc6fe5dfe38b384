import { BoundedMap } from "../../../limits/bounded-map.ts";
import type { PlannedPart } from "../planning/plan.ts";
import { measureName } from "../planning/measure-name.ts";
import type { Query } from "../planning/query.ts";
import type { PartOutcome } from "../reads/read-stores.ts";
import { assumedSeries, seriesOf } from "./cost.ts";

/** Most shapes of queries, of about 200 bytes each. Above it, the least recently used one is removed. */
const shapesMax = 20_000;
/** Share of the earlier number that is still expected after a response with fewer series. */
const memory = 0.9;

/**
 * The number of series that stores return, learned from responses to queries of the same shape. A shape is a metric, a
 * measure, a store, and the labels of grouping and filters.
 */
export interface Cardinality {
  /** The expected series of one part, over all of its range queries. */
  expected(part: PlannedPart, query: Query): number;
  /** Records the series that stores returned. */
  record(outcomes: readonly PartOutcome[], query: Query): void;
  /** Counts the records that changed a number; with an equal count, every expected number is the same. */
  changes(): number;
}

/** Creates a cardinality without any record. */
export function createCardinality(): Cardinality {
  const seen = new BoundedMap<string, number>(shapesMax);
  let changes = 0;
  return {
    changes: () => changes,
    expected: (part, query) => seen.get(shapeOf(part, query)) ?? assumedSeries(part, query),
    record(outcomes, query) {
      for (const { part, outcome } of outcomes) {
        if (!outcome.ok) continue;
        const shape = shapeOf(part, query);
        const before = seen.get(shape) ?? 0;
        const after = Math.max(1, seriesOf(outcome.value), Math.round(before * memory));
        if (after !== before) changes += 1;
        seen.set(shape, after);
      }
    },
  };
}

function shapeOf({ metric, store }: PlannedPart, { groupBy, filters }: Query): string {
  return JSON.stringify([
    metric.entry.metric.id,
    measureName(metric),
    store.key,
    groupBy,
    filters
      .entries()
      .map(([label, values]) => (values.length === 1 ? label : `${label} ${values.length}`))
      .toArray()
      .sort(),
  ]);
}
