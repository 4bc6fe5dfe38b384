import type { QueryClass } from "../../../crds/config.ts";
import type { Plan } from "../planning/plan.ts";
import { addUses, type Costs, type MetricUses, usesOf } from "./cost.ts";

/** What a row of usage is about. */
export interface UsageKey {
  readonly client: string;
  readonly tenant: string;
  readonly metric: string;
  readonly queryClass: QueryClass;
  /** The same as one text, so that a repeat query need not build it again. @default it is built */
  readonly text?: string;
}

/** One text of the members of a key. */
export function usageKeyText({ client, tenant, metric, queryClass }: UsageKey): string {
  return `${client}\n${tenant}\n${metric}\n${queryClass}`;
}

/** The sums of a row of usage. All are integers, so that sums of groups are exact. */
export interface UsageSums {
  /** Admitted requests for the metric. A request for several metrics counts for each of them. */
  requests: number;
  /** Requested points of all range queries, and those of them that came from a cache. */
  points: number;
  cachedPoints: number;
  /** Bytes of response bodies as sent. The bytes of a response are divided equally among its metrics. */
  bytes: number;
  /** Cost units, expected before the read and charged after it. */
  estimate: number;
  cost: number;
}

/** Names of the sums, in the order in which they are stored. */
export const usageSums = ["requests", "points", "cachedPoints", "bytes", "estimate", "cost"] as const;

/** What is added to a row. */
export interface AddedUsage extends Partial<UsageSums> {
  readonly uses?: MetricUses | undefined;
}

/** One row of usage. In the rows beyond a bound, client and metric are empty, and finally the tenant. */
export interface UsageRow extends UsageKey, UsageSums {
  /** Undefined in rows of earlier versions, which do not count uses, and in those of others. */
  uses?: Map<string, number> | undefined;
}

/** Rows by what they are about, at most as many as their bound. Beyond it, clients and metrics are summed as others. */
export class UsageRows {
  readonly #rows = new Map<string, UsageRow>();
  #others = 0;

  get size(): number {
    return this.#rows.size;
  }

  values(): Iterable<UsageRow> {
    return this.#rows.values();
  }

  /** Adds sums to their row, which it returns. @param rowsMax at least ten times the number of classes */
  add(key: UsageKey, sums: AddedUsage, rowsMax: number): UsageRow {
    const text = key.text ?? usageKeyText(key);
    const row = this.#rows.get(text) ?? this.#newRow(key, text, rowsMax);
    addUsage(row, sums);
    if (sums.uses !== undefined && row.metric !== "") row.uses = addUses(row.uses, sums.uses);
    return row;
  }

  #newRow({ client, tenant, metric, queryClass }: UsageKey, text: string, rowsMax: number): UsageRow {
    const othersMax = Math.floor(rowsMax * othersShare);
    const isOther = client === "" && metric === "";
    if (
      isOther
        ? tenant === "" || this.#others < othersMax
        : this.#rows.size - this.#others < rowsMax - othersMax - classesMax
    )
      return this.#make(text, { client, tenant, metric, queryClass }, isOther);
    const other = { client: "", tenant: isOther ? "" : tenant, metric: "", queryClass };
    const otherText = usageKeyText(other);
    return this.#rows.get(otherText) ?? this.#newRow(other, otherText, rowsMax);
  }

  #make(text: string, key: UsageKey, isOther: boolean): UsageRow {
    const row = { ...key, requests: 0, points: 0, cachedPoints: 0, bytes: 0, estimate: 0, cost: 0 };
    this.#rows.set(text, row);
    if (isOther && key.tenant !== "") this.#others += 1;
    return row;
  }
}

/** Adds sums, member by member: a loop over their names takes several times as long. */
export function addUsage(row: UsageSums, sums: Partial<UsageSums>): void {
  row.requests += sums.requests ?? 0;
  row.points += sums.points ?? 0;
  row.cachedPoints += sums.cachedPoints ?? 0;
  row.bytes += sums.bytes ?? 0;
  row.estimate += sums.estimate ?? 0;
  row.cost += sums.cost ?? 0;
}

/** Share of rows that are sums of the others of a tenant. */
const othersShare = 0.01;
/** Rows of the others of all tenants, one for each class. */
const classesMax = 3;

/** An hour, in hours since the Unix epoch. */
export type UsageHour = number;

/** Usage that was counted since it was last taken. */
export interface TakenUsage {
  readonly hours: ReadonlyMap<UsageHour, UsageRows>;
  /** Requests of any outcome. */
  readonly requests: number;
  /** Responses with a body, and its bytes. */
  readonly responses: number;
  readonly bytes: number;
  /** Requests of rows that were dropped because nobody took them. */
  readonly dropped: number;
}

export const hourMs = 3_600_000;
/** Most rows of an hour between two takes. */
const takenRowsMax = 20_000;
/** Most hours between two takes; more of them are a clock that steps. */
const takenHoursMax = 4;

/** Counts the usage of this pod in memory until it is taken. */
export class UsageCounts {
  readonly #now: () => number;
  #hours = new Map<UsageHour, UsageRows>();
  #requests = 0;
  #responses = 0;
  #bytes = 0;
  #dropped = 0;

  /** @param now Unix milliseconds, of which hours are made */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Adds to a row of the current hour. */
  add(key: UsageKey, sums: AddedUsage): void {
    const hour = Math.floor(this.#now() / hourMs);
    const rows = this.#hours.get(hour) ?? this.#open(hour);
    rows.add(key, sums, takenRowsMax);
  }

  countRequest(): void {
    this.#requests += 1;
  }

  countResponse(bytes: number): void {
    this.#responses += 1;
    this.#bytes += bytes;
  }

  /** Returns the counts and starts again from zero. */
  take(): TakenUsage {
    const [requests, responses, bytes, dropped] = [this.#requests, this.#responses, this.#bytes, this.#dropped];
    const taken = { hours: this.#hours, requests, responses, bytes, dropped };
    this.#hours = new Map();
    this.#requests = this.#responses = this.#bytes = this.#dropped = 0;
    return taken;
  }

  #open(hour: UsageHour): UsageRows {
    const [oldest] = this.#hours;
    if (oldest !== undefined && this.#hours.size >= takenHoursMax) {
      this.#hours.delete(oldest[0]);
      for (const { requests } of oldest[1].values()) this.#dropped += requests;
    }
    const rows = new UsageRows();
    this.#hours.set(hour, rows);
    return rows;
  }
}

/** Receives the usage of admitted requests. */
export type CountUsage = (key: UsageKey, sums: AddedUsage) => void;

/** The charge of a query, and the share of its points that were not cached. */
export interface ChargedQuery {
  readonly costs: Costs;
  readonly share: number;
}

/** One metric of a plan, for its usage. */
interface MetricOfPlan {
  readonly key: UsageKey;
  /** A point counts once for each range query. */
  readonly points: number;
  /** Each once. */
  readonly uses: MetricUses;
}

/** The metrics of a plan, which a repeat query has again. */
export function rememberMetrics(): (plan: Plan, client: string) => readonly MetricOfPlan[] {
  const known = new WeakMap<Plan, { readonly client: string; readonly metrics: readonly MetricOfPlan[] }>();
  return (plan, client) => {
    const before = known.get(plan);
    if (before?.client === client) return before.metrics;
    const metrics = metricsOf(plan, client);
    known.set(plan, { client, metrics });
    return metrics;
  };
}

function metricsOf({ query, grid, parts }: Plan, client: string): readonly MetricOfPlan[] {
  const { tenant, quota, metrics } = query;
  return metrics.map((queried) => {
    const { entry } = queried;
    const key = { client, tenant, metric: entry.metric.id, queryClass: quota.queryClass };
    const own = parts.filter(({ metric }) => metric.entry.metric.id === key.metric);
    const ranges = own.reduce((sum, part) => sum + part.ranges.length, 0);
    return { key: { ...key, text: usageKeyText(key) }, points: grid.count * ranges, uses: usesOf(query, queried) };
  });
}

/** The usage of one query, apart from the bytes of its response. */
export function usageOf(
  metrics: readonly MetricOfPlan[],
  { costs, share, estimates }: ChargedQuery & { readonly estimates: Costs | undefined },
): readonly { readonly key: UsageKey; readonly sums: UsageSums & AddedUsage }[] {
  return metrics.map(({ key, points, uses }) => {
    const cachedPoints = points - Math.round(points * share);
    const [estimate, cost] = [estimates?.get(key.metric) ?? 0, costs.get(key.metric) ?? 0];
    return { key, sums: { requests: 1, uses, points, cachedPoints, bytes: 0, estimate, cost } };
  });
}

/** Counts the bytes of a response as usage of its keys. */
export function countBytes(keys: readonly UsageKey[], bytes: number, countUsage: CountUsage): void {
  const [only, ...others] = keys;
  if (only !== undefined && others.length === 0) return countUsage(only, { bytes });
  const shares = divided(bytes, keys.length);
  for (const [index, key] of keys.entries()) countUsage(key, { bytes: shares[index] ?? 0 });
}

/** Divides a number into integers of the same sum that differ by at most one. */
export function divided(sum: number, count: number): readonly number[] {
  const rest = sum % count;
  return Array.from({ length: count }, (_, index) => (sum - rest) / count + (index < rest ? 1 : 0));
}
