import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { PlannedPart } from "../planning/plan.ts";
import type { Query } from "../planning/query.ts";
import type { PartOutcome } from "../execution/read-stores.ts";
import { assumedSeries, seriesOf } from "./cost.ts";

/** Shapes of queries that are remembered; the one unused for longest makes way. About 200 bytes each. */
const shapesMax = 20_000;
/** Share of what was seen before that is still expected when a later answer is smaller. */
const memory = 0.9;

/**
 * How many series stores answer, learnt from what they answered to queries of the same shape: a metric, an aggregation,
 * a store, the labels it is grouped and filtered by.
 */
export interface Cardinality {
  /** Series that one part is expected to read, over all of its range queries. */
  expected(part: PlannedPart, query: Query): number;
  /** Takes note of what stores answered. */
  saw(outcomes: readonly PartOutcome[], query: Query): void;
}

/** Nothing seen yet. */
export function createCardinality(): Cardinality {
  const seen = new BoundedMap<string, number>(shapesMax);
  return {
    expected: (part, query) => seen.get(shapeOf(part, query)) ?? assumedSeries(part, query),
    saw(outcomes, query) {
      for (const { part, outcome } of outcomes) {
        if (!outcome.ok) continue;
        const shape = shapeOf(part, query);
        const before = seen.get(shape) ?? 0;
        seen.set(shape, Math.max(1, seriesOf(outcome.value), Math.round(before * memory)));
      }
    },
  };
}

function shapeOf({ metric, store }: PlannedPart, { groupBy, filters }: Query): string {
  return JSON.stringify([metric.entry.metric.id, metric.aggregation, store.key, groupBy, [...filters.keys()].sort()]);
}
