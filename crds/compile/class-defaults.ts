import type { ClassLimits, QueryClass } from "../config.ts";

const daySeconds = 86_400;

/**
 * Limits of a class where no quota says otherwise. Series and step are the seed's (seed "Operational Metrics API" §8);
 * the windows are what dashboards, operations and analytics look at: a week, a month, 400 days.
 */
export const classDefaults: Readonly<Record<QueryClass, ClassLimits>> = {
  A: { maxSeries: 50, maxWindowSeconds: 7 * daySeconds, minStepSeconds: 10, maxGroupBy: 4 },
  B: { maxSeries: 50, maxWindowSeconds: 31 * daySeconds, minStepSeconds: 10, maxGroupBy: 4 },
  C: { maxSeries: 50, maxWindowSeconds: 400 * daySeconds, minStepSeconds: 10, maxGroupBy: 4 },
};
