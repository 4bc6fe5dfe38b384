import type { ClassLimits, QueryClass } from "../config.ts";

const daySeconds = 86_400;
const million = 1_000_000;

/** Source: seed "Operational Metrics API" §8. Analytics asks seldom and much, so fewer of its requests run at once. */
const rates = { requestsPerSecond: 10, burst: 20 };

/**
 * Limits of a class where no quota says otherwise. Series, step and request rate are the seed's (seed "Operational
 * Metrics API" §8); the windows are what dashboards, operations and analytics look at: a week, a month, 400 days. A
 * minute pays for 100 answers of 50 series over 1,000 points of four statistics each in class A, twice and four times
 * that in B and C.
 */
export const classDefaults: Readonly<Record<QueryClass, ClassLimits>> = {
  A: {
    maxSeries: 50,
    maxWindowSeconds: 7 * daySeconds,
    minStepSeconds: 10,
    maxGroupBy: 4,
    ...rates,
    ...spends(20),
    maxConcurrent: 20,
    ...keeps(10, 30, 5, 0),
  },
  B: {
    maxSeries: 50,
    maxWindowSeconds: 31 * daySeconds,
    minStepSeconds: 10,
    maxGroupBy: 4,
    ...rates,
    ...spends(40),
    maxConcurrent: 20,
    ...keeps(30, 120, 10, 10),
  },
  C: {
    maxSeries: 50,
    maxWindowSeconds: 400 * daySeconds,
    minStepSeconds: 10,
    maxGroupBy: 4,
    ...rates,
    ...spends(80),
    maxConcurrent: 8,
    ...keeps(60, 300, 20, 20),
  },
};

type Kept = Pick<
  ClassLimits,
  "memorySeconds" | "distributedSeconds" | "hotTailSeconds" | "staleWhileRevalidateSeconds"
>;

/** One minute's worth at once. */
function spends(millions: number): Pick<ClassLimits, "costUnitsPerMinute" | "burstCostUnits"> {
  return { costUnitsPerMinute: millions * million, burstCostUnits: millions * million };
}

/**
 * In one pod, over all pods, what may still change, and how much longer while it is read again: real time has no time
 * for that.
 */
function keeps(
  memorySeconds: number,
  distributedSeconds: number,
  hotTailSeconds: number,
  staleWhileRevalidateSeconds: number,
): Kept {
  return { memorySeconds, distributedSeconds, hotTailSeconds, staleWhileRevalidateSeconds };
}
