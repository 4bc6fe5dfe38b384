import type { SliceCondition } from "../../../crds/config.ts";

/** The slices with a value, and those of them that meet the condition. */
export interface SliceCounts {
  readonly good: number;
  readonly total: number;
}

/** The comparison of each operator. Positive infinity is above every threshold. */
const meets: Readonly<Record<SliceCondition["operator"], (value: number, threshold: number) => boolean>> = {
  AtMost: (value, threshold) => value <= threshold,
  Below: (value, threshold) => value < threshold,
  AtLeast: (value, threshold) => value >= threshold,
  Above: (value, threshold) => value > threshold,
};

/**
 * Judges the values of adjacent slices. A slice without a value, which is NaN, is neither good nor bad.
 *
 * @returns the counts of some slices up to the one with an index, which is included; slices before the first have no
 *   value
 */
export function countSlices(
  values: Float64Array,
  { operator, threshold }: SliceCondition,
): (lastIndex: number, slices: number) => SliceCounts {
  const isGood = meets[operator];
  const { length } = values;
  // Sums up to each slice, so that windows subtract two of them.
  const [good, total] = [new Uint32Array(length + 1), new Uint32Array(length + 1)];
  for (const [index, value] of values.entries()) {
    const isKnown = !Number.isNaN(value);
    good[index + 1] = (good[index] ?? 0) + Number(isKnown && isGood(value, threshold));
    total[index + 1] = (total[index] ?? 0) + Number(isKnown);
  }
  const within = (index: number): number => Math.min(length, Math.max(0, index));
  return (lastIndex, slices) => {
    const [begin, end] = [within(lastIndex + 1 - slices), within(lastIndex + 1)];
    const between = (sums: Uint32Array): number => (sums[end] ?? 0) - (sums[begin] ?? 0);
    return { good: between(good), total: between(total) };
  };
}
