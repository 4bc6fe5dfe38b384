import { BoundedMap } from "../../../limits/bounded-map.ts";
import type { QueryClass } from "../../../crds/config.ts";
import type { Plan, PlannedPart } from "../planning/plan.ts";
import { measureName, type Query } from "../planning/query.ts";
import type { PartOutcome, PartResult } from "../reads/read-part.ts";
import { stepsPerPoint, windowSecondsDefault } from "../request/window.ts";

/** Assumed buckets of a histogram before the first response. */
const bucketsAssumed = 12;

/**
 * Cost units by metric id. A cost unit is one point of one series that a store computes, over the samples of one step:
 * a point that is wider than its step reads as many samples as several points.
 */
export type Costs = ReadonlyMap<string, number>;

/** The expected cost of a query. Source: seed "Operational Metrics API" §6, `X-Query-Cost-Estimate`. */
export function expectedCosts(
  { parts, grid, query }: Plan,
  seriesExpected: (part: PlannedPart, query: Query) => number = assumedSeries,
): Costs {
  return addedCosts(parts.map((part) => costOf(part, seriesExpected(part, query) * pointUnits({ grid, query }))));
}

/** The actual cost of a query; a failed store counts as no cost. @param share of the points that stores computed */
export function actualCosts(plan: Plan, outcomes: readonly PartOutcome[], share: number): Costs {
  return addedCosts(
    outcomes.map(({ part, outcome }) =>
      costOf(part, outcome.ok ? Math.ceil(seriesOf(outcome.value) * pointUnits(plan) * share) : 0),
    ),
  );
}

/** The cost of one series at all points. */
function pointUnits({ grid, query }: Pick<Plan, "grid" | "query">): number {
  return grid.count * stepsPerPoint(query.window);
}

/** Adds the costs of several queries, or of the parts of one. */
export function addedCosts(costs: readonly Costs[]): Costs {
  const sums = new Map<string, number>();
  for (const [metric, cost] of costs.flatMap((own) => [...own])) sums.set(metric, (sums.get(metric) ?? 0) + cost);
  return sums;
}

/** The cost of all metrics together. */
export function totalCost(costs: Costs): number {
  return costs.values().reduce((sum, cost) => sum + cost, 0);
}

/** The series without an earlier response: one for an ungrouped range query, a full page for a grouped one. */
function assumedSeries({ metric, ranges }: PlannedPart, query: Query): number {
  const seriesPerRange = query.groupBy.length === 0 ? 1 : query.limit;
  return seriesPerRange * (metric.recipe.kind === "quantile" ? bucketsAssumed : ranges.length);
}

/** The number of series in the result of one part: of each range query as many as its largest piece has. */
function seriesOf({ ranges, histograms }: PartResult): number {
  return ranges.reduce((sum, range) => sum + countSeries(range), histograms.length);
}

function countSeries(range: PartResult["ranges"][number]): number {
  if (range.pieces === undefined) return range.series.length;
  return Math.max(0, ...range.pieces.map(({ cut, count }) => cut(0, count).length));
}

function costOf({ metric }: PlannedPart, cost: number): Costs {
  return new Map([[metric.entry.metric.id, cost]]);
}

/** Most shapes of queries, of about 200 bytes each. Above it, the least recently used one is removed. */
const shapesMax = 20_000;
/** Share of the earlier number that is still expected after a response with fewer series. */
const memory = 0.9;

/**
 * The number of series that stores return, learned from responses to queries of the same shape. A shape is a metric, a
 * measure, a store, and the labels of grouping and filters.
 */
export interface Cardinality {
  /** The expected series of one part, over all of its range queries. */
  expected(part: PlannedPart, query: Query): number;
  /** Records the series that stores returned. */
  record(outcomes: readonly PartOutcome[], query: Query): void;
  /** Counts the records that changed a number; with an equal count, every expected number is the same. */
  changes(): number;
}

/** Creates a cardinality without any record. */
export function createCardinality(): Cardinality {
  const seen = new BoundedMap<string, number>(shapesMax);
  let changes = 0;
  return {
    changes: () => changes,
    expected: (part, query) => seen.get(shapeOf(part, query)) ?? assumedSeries(part, query),
    record(outcomes, query) {
      for (const { part, outcome } of outcomes) {
        if (!outcome.ok) continue;
        const shape = shapeOf(part, query);
        const before = seen.get(shape) ?? 0;
        const after = Math.max(1, seriesOf(outcome.value), Math.round(before * memory));
        if (after !== before) changes += 1;
        seen.set(shape, after);
      }
    },
  };
}

function shapeOf({ metric, store }: PlannedPart, { groupBy, filters }: Query): string {
  return JSON.stringify([
    metric.entry.metric.id,
    measureName(metric),
    store.key,
    groupBy,
    filters
      .entries()
      .map(([label, values]) => (values.length === 1 ? label : `${label} ${values.length}`))
      .toArray()
      .sort(),
  ]);
}

/**
 * The request tokens of one query: one, and one more for each doubling of its window beyond the default window. A burst
 * thus allows a wide window, up to the widest of the class. Source: seed "Operational Metrics API" §8, "Burst tokens
 * allow wider windows".
 */
export function requestTokens(windowSeconds: number): number {
  return 1 + Math.max(0, Math.ceil(Math.log2(windowSeconds / windowSecondsDefault)));
}

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

/** One row of usage. In the rows beyond a bound, client and metric are empty, and finally the tenant. */
export interface UsageRow extends UsageKey, UsageSums {}

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
  add(key: UsageKey, sums: Partial<UsageSums>, rowsMax: number): UsageRow {
    const text = key.text ?? usageKeyText(key);
    const row = this.#rows.get(text) ?? this.#newRow(key, text, rowsMax);
    addUsage(row, sums);
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
  add(key: UsageKey, sums: Partial<UsageSums>): void {
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

/** Divides a number into integers of the same sum that differ by at most one. */
export function divided(sum: number, count: number): readonly number[] {
  const rest = sum % count;
  return Array.from({ length: count }, (_, index) => (sum - rest) / count + (index < rest ? 1 : 0));
}
