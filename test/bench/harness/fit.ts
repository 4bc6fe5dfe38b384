/** One point of a sweep: how much of something there was, and what it cost. */
export type SweepPoint = readonly [amount: number, cost: number];

/** A straight line through the points of a sweep. */
export interface Line {
  /** Cost without any of it. */
  readonly fixed: number;
  readonly perUnit: number;
}

/** Costs that are above the line of the smaller amounts by this factor are beyond the knee. */
const kneeFactor = 1.5;

/** Least squares; a flat line through one point. */
export function lineThrough(points: readonly SweepPoint[]): Line {
  const count = points.length;
  const mean = (place: 0 | 1): number => points.reduce((sum, point) => sum + point[place], 0) / count;
  const [x, y] = [mean(0), mean(1)];
  const spread = points.reduce((sum, [amount]) => sum + (amount - x) ** 2, 0);
  const perUnit =
    spread === 0 ? 0 : points.reduce((sum, [amount, cost]) => sum + (amount - x) * (cost - y), 0) / spread;
  return { fixed: y - perUnit * x, perUnit };
}

/** The first amount whose cost is far above the line of the smaller ones; undefined when the line holds. */
export function kneeOf(points: readonly SweepPoint[]): number | undefined {
  const sorted = points.toSorted(([one], [other]) => one - other);
  const place = sorted.findIndex(([amount, cost], index) => {
    if (index < 2) return false;
    const { fixed, perUnit } = lineThrough(sorted.slice(0, index));
    return cost > kneeFactor * (fixed + perUnit * amount);
  });
  return sorted[place]?.[0];
}
