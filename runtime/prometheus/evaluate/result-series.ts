import type { LeafSeries } from "../../metrics/leaves/leaf.ts";
import type { Points } from "./operators.ts";

/** A series of a result. */
export interface ResultSeries extends Points {
  readonly labels: LeafSeries["labels"];
}

/**
 * The order of series in Prometheus: label by label in the order of their names, by name, then by value. A series whose
 * labels begin another one's comes first.
 */
export function compareLabels(a: ResultSeries["labels"], b: ResultSeries["labels"]): number {
  const [left, right] = [sortedEntries(a), sortedEntries(b)];
  for (const [index, [name, value]] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (name !== other[0]) return name < other[0] ? -1 : 1;
    if (value !== other[1]) return value < other[1] ? -1 : 1;
  }
  return left.length - right.length;
}

/** The labels in the order of their names. */
export function sortedEntries(labels: ResultSeries["labels"]): readonly (readonly [string, string])[] {
  return Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
}
