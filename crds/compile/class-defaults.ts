import type { ClassLimits, QueryClass } from "../config.ts";

const daySeconds = 86_400;
const million = 1_000_000;

/** Source: seed "Operational Metrics API" §8. */
const rates = { requestsPerSecond: 10, burst: 20 };

/**
 * Limits of a class without a quota. Series, step and request rate are the seed's (seed "Operational Metrics API" §8).
 * The windows are those of dashboards, operations and analytics: a week, a month, 400 days. Class A can spend 100
 * responses a minute, each of 50 series over 1,000 points of four statistics. B and C can spend twice and four times
 * that. Requests of class C are few and expensive, so fewer of them run at once.
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

/** The burst equals the units of one minute. */
function spends(millions: number): Pick<ClassLimits, "costUnitsPerMinute" | "burstCostUnits"> {
  return { costUnitsPerMinute: millions * million, burstCostUnits: millions * million };
}

/**
 * Lifetimes in one pod and over all pods, age at which points are final, and how long a stale value may be served.
 * Class A serves no stale values.
 */
function keeps(
  memorySeconds: number,
  distributedSeconds: number,
  hotTailSeconds: number,
  staleWhileRevalidateSeconds: number,
): Kept {
  return { memorySeconds, distributedSeconds, hotTailSeconds, staleWhileRevalidateSeconds };
}
