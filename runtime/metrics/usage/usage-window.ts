import type { HealthAnswer } from "../../../api/catalog.ts";
import type { TakenUsage } from "../admission/usage-counts.ts";

/** Cost of a metric for one tenant. The tenant is empty for those beyond a bound. */
export type MetricCost = readonly [tenant: string, metric: string, cost: number, requests: number];

/** The usage of the last minutes of one pod. */
export interface RecentUsage {
  /** Seconds of the figures: less than the window after a start. */
  readonly seconds: number;
  readonly requests: number;
  readonly responses: number;
  readonly bytes: number;
  readonly costs: readonly MetricCost[];
}

interface Slot extends Pick<TakenUsage, "requests" | "responses" | "bytes"> {
  readonly atMs: number;
  readonly costs: readonly MetricCost[];
}

/** Most costs of a slot, and of a pod. Those with the least cost are left out. */
const costsMax = 2_000;
const secondMs = 1_000;
const decimals = 1_000;

/** Sums of the usage in a window of time that moves. */
export class UsageWindow {
  readonly #now: () => number;
  readonly #windowMs: number;
  readonly #startMs: number;
  #slots: Slot[] = [];

  /** @param now monotonic milliseconds */
  constructor(now: () => number, windowSeconds: number) {
    this.#now = now;
    this.#windowMs = windowSeconds * secondMs;
    this.#startMs = now();
  }

  add({ requests, responses, bytes, hours }: TakenUsage): void {
    this.#drop();
    const rows = [...hours.values()].flatMap((own) => [...own.values()]);
    if (requests === 0 && responses === 0 && rows.length === 0) return;
    const costs = summed(rows.map((row) => [row.tenant, row.metric, row.cost, row.requests] as const));
    this.#slots.push({ atMs: this.#now(), requests, responses, bytes, costs });
  }

  read(): RecentUsage {
    this.#drop();
    const sum = (name: "requests" | "responses" | "bytes"): number =>
      this.#slots.reduce((total, slot) => total + slot[name], 0);
    const seconds = Math.min(this.#windowMs, Math.max(secondMs, this.#now() - this.#startMs)) / secondMs;
    const costs = summed(this.#slots.flatMap((slot) => slot.costs));
    return { seconds, requests: sum("requests"), responses: sum("responses"), bytes: sum("bytes"), costs };
  }

  #drop(): void {
    const sinceMs = this.#now() - this.#windowMs;
    this.#slots = this.#slots.filter(({ atMs }) => atMs > sinceMs);
  }
}

/** Sums by tenant and metric, the greatest cost first. */
function summed(costs: readonly MetricCost[]): readonly MetricCost[] {
  const sums = new Map<string, MetricCost>();
  for (const [tenant, metric, cost, requests] of costs) {
    const key = `${tenant}\n${metric}`;
    const [, , costBefore, requestsBefore] = sums.get(key) ?? [tenant, metric, 0, 0];
    sums.set(key, [tenant, metric, costBefore + cost, requestsBefore + requests]);
  }
  return [...sums.values()].sort(([, , one], [, , other]) => other - one).slice(0, costsMax);
}

/** Unites the figures of pods. @param maySee selects the costs that a caller sees */
export function unitedUsage(
  pods: readonly RecentUsage[],
  maySee: (tenant: string, metric: string) => boolean,
  metricsMax: number,
): Pick<HealthAnswer, "requests_per_second" | "response_bytes_avg" | "most_expensive"> {
  const perSecond = pods.reduce((sum, { requests, seconds }) => sum + requests / seconds, 0);
  const responses = pods.reduce((sum, pod) => sum + pod.responses, 0);
  const visible = pods
    .flatMap(({ costs }) => costs)
    .filter(([tenant, metric]) => metric !== "" && maySee(tenant, metric));
  const byMetric = summed(visible.map(([, metric, cost, requests]) => ["", metric, cost, requests] as const));
  return {
    requests_per_second: Math.round(perSecond * decimals) / decimals,
    response_bytes_avg:
      responses === 0 ? null : Math.round(pods.reduce((sum, { bytes }) => sum + bytes, 0) / responses),
    most_expensive: byMetric
      .filter(([, , cost]) => cost > 0)
      .slice(0, metricsMax)
      .map(([, metric, cost, requests]) => ({ metric, cost, requests })),
  };
}

/** Parses the figures of another pod; undefined for those of another version. */
export function readRecentUsage(reply: unknown): RecentUsage | undefined {
  const { seconds, requests, responses, bytes, costs }: Partial<Record<keyof RecentUsage, unknown>> = Object(reply);
  const areNumbers = [seconds, requests, responses, bytes].every((value) => typeof value === "number");
  return areNumbers && Array.isArray(costs) ? (reply as RecentUsage) : undefined;
}
