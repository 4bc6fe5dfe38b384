/** The place of the first element that passes, in elements of which the last ones pass; their number without one. */
export function placeOf<T>(sorted: readonly T[], passes: (one: T) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (passes(sorted[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
