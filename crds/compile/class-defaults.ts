import type { ClassLimits, QueryClass } from "../config.ts";

const daySeconds = 86_400;
const million = 1_000_000;

/**
 * The rate is the seed's (seed "Operational Metrics API" §8). Burst and concurrency fit a dashboard that opens: twenty
 * panels over a day, of five request tokens each, and twenty look-ups of labels and metrics.
 */
const rates = { requestsPerSecond: 10, burst: 120, maxConcurrent: 40 };

/**
 * Limits of a class without a quota. Series, step and request rate are the seed's (seed "Operational Metrics API" §8).
 * The windows are those of dashboards, operations and analytics: a week, a month, 400 days. Class A can spend 100
 * responses a minute, each of 50 series over 1,000 points of four statistics. B and C can spend twice and four times
 * that. Fewer requests of B and C run at a store at once, whatever the client.
 */
export const classDefaults: Readonly<Record<QueryClass, ClassLimits>> = {
  A: {
    maxSeries: 50,
    maxWindowSeconds: 7 * daySeconds,
    minStepSeconds: 10,
    maxGroupBy: 4,
    ...rates,
    ...spends(20),
    ...keeps(10, 30, 5, 0),
  },
  B: {
    maxSeries: 50,
    maxWindowSeconds: 31 * daySeconds,
    minStepSeconds: 10,
    maxGroupBy: 4,
    ...rates,
    ...spends(40),
    ...keeps(30, 120, 10, 10),
  },
  C: {
    maxSeries: 50,
    maxWindowSeconds: 400 * daySeconds,
    minStepSeconds: 10,
    maxGroupBy: 4,
    ...rates,
    ...spends(80),
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
