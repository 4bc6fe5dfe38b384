/**
 * The value that this share of all values does not exceed; undefined without values. Source: nearest rank.
 *
 * @param values in any order; a map counts equal values
 * @param share from 0 to 1
 */
export function percentileOf(
  values: readonly number[] | ReadonlyMap<number, number>,
  share: number,
): number | undefined {
  const counted = "size" in values ? [...values] : values.map((value) => [value, 1] as const);
  const sorted = counted.toSorted(([one], [other]) => one - other);
  let left = Math.ceil(share * sorted.reduce((sum, [, count]) => sum + count, 0));
  for (const [value, count] of sorted) {
    left -= count;
    if (left <= 0) return value;
  }
  return undefined;
}
