/**
 * The sum of a few numbers in their order, with the rounding errors summed apart (Neumaier): equal inputs in equal order
 * give equal sums, and a split into several stores costs no digits. Infinities and NaN behave as in plain addition.
 */
export function compensatedSum(values: readonly number[]): number {
  let sum = 0;
  let lost = 0;
  for (const value of values) {
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return Number.isFinite(lost) ? sum + lost : sum;
}
