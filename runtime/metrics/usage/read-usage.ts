import { usageRowsMax, type UsageAnswer, type UsageItem } from "../../../api/usage.ts";
import { createTimeSlices } from "../../../limits/clock.ts";
import { ApiError } from "../../errors/api-error.ts";
import { addUsage, hourMs, type UsageHour, type UsageRow, type UsageSums } from "../admission/usage-counts.ts";
import { accessOf, allows, type Access, type Caller, usageScope } from "../authorization/access.ts";
import type { QueryContext } from "../planning/query.ts";
import { formatTime } from "../request/time.ts";
import { decodeUsage, type UsageMessage, type UsageStore } from "./usage-message.ts";
import type { UsageGroup, UsageQuery } from "./usage-query.ts";

const secondMs = 1_000;
/** Clocks of pods, and the time between a count and its write. */
const marginMs = 10 * 60_000;
/** Name of the sums beyond the bound on rows. */
const otherName = "other";
/** Rows between two looks at the clock. */
const rowsAtOnce = 50;
const slices = createTimeSlices();

interface UsageSources {
  /** Undefined if usage is not stored. */
  readonly store: UsageStore | undefined;
  readonly queryContext: QueryContext;
}

/** What a caller sees of the rows. */
export interface UsageView {
  /** True for all clients; otherwise only the caller. */
  readonly isOfAll: boolean;
  readonly client: string;
  readonly access: Pick<Access, "tenants" | "metrics">;
}

/**
 * Sums the stored rows that the caller may see. Without the scope `metrics:usage`, these are its own. A token that is
 * restricted to tenants or metrics never gets figures of others, nor totals that contain them.
 *
 * @throws ApiError `usage_unavailable`, `result_too_large`
 */
export async function readUsage(query: UsageQuery, caller: Caller, sources: UsageSources): Promise<UsageAnswer> {
  const { store, queryContext } = sources;
  if (store === undefined) throw new ApiError("usage_unavailable", "this installation does not store usage");
  const isOfAll = caller.scopes.includes(usageScope);
  const view: UsageView = { isOfAll, client: caller.client, access: accessOf(caller, queryContext.quotas) };
  const found = await collect(query, view, store).catch((error: unknown) => {
    if (error instanceof ApiError) throw error;
    throw new ApiError("usage_unavailable", "usage cannot be read from NATS; retry later", { cause: error });
  });
  return responseOf(query, view, found);
}

interface Found extends ScannedUsage {
  readonly groups: readonly Summed[];
  readonly total: UsageSums;
  /** True if usage of the caller may be among others that it does not see. */
  readonly hasHidden: boolean;
}

interface Summed {
  readonly start: UsageHour;
  readonly names: readonly string[];
  readonly sums: UsageSums;
}

async function collect(query: UsageQuery, view: UsageView, store: UsageStore): Promise<Found> {
  const fold = new Fold(query, view);
  const scanned = await scanUsage(store, query, (hour, row) => fold.add(hour, row));
  return { ...fold.found(), ...scanned };
}

/** Hours of stored usage. */
type UsageHours = Pick<UsageQuery, "fromHour" | "toHour">;

/** What the rows of a window may lack. */
export interface ScannedUsage {
  /** Unix milliseconds since which all pods counted. */
  readonly completeSinceMs: number;
  /** Requests that were counted and not stored. */
  readonly lost: number;
}

/** Reads the rows of a window, in steps with pauses for other requests. @throws Error when NATS does not respond */
export async function scanUsage(
  store: UsageStore,
  { fromHour, toHour }: UsageHours,
  add: (hour: UsageHour, row: UsageRow) => void,
): Promise<ScannedUsage> {
  const createdAtMs = await store.createdAtMs();
  if (createdAtMs === undefined) throw new Error("the stream of usage is missing");
  const isInWindow = (hour: UsageHour): boolean => hour >= fromHour && hour < toHour;
  let [completeSinceMs, lost] = [createdAtMs, 0];
  for await (const { hour, payload } of store.read(fromHour * hourMs - marginMs)) {
    const message = decodeUsage(payload);
    lost += lostIn(message, isInWindow);
    if (!isInWindow(hour)) continue;
    // A message of another version may have rows of its hour. What a pod did not count after the window is missing in
    // the messages of those hours.
    completeSinceMs = Math.max(completeSinceMs, message?.uncountedUntilMs ?? (hour + 1) * hourMs);
    if (message !== undefined) await slices.collect(eachOf(message.rows, (row) => add(hour, row)));
  }
  return { completeSinceMs, lost };
}

function lostIn(message: UsageMessage | undefined, isInWindow: (hour: UsageHour) => boolean): number {
  const own = message?.lost.filter(([hour]) => isInWindow(hour)) ?? [];
  return own.reduce((sum, [, requests]) => sum + requests, 0);
}

function* eachOf(rows: readonly UsageRow[], add: (row: UsageRow) => void): Generator<void> {
  for (const [index, row] of rows.entries()) {
    add(row);
    if (index % rowsAtOnce === rowsAtOnce - 1) yield;
  }
}

/** Adds stored rows to those of a response. */
class Fold {
  readonly #query: UsageQuery;
  readonly #view: UsageView;
  /** Sums by the start of the interval, then by the names of the groups. */
  readonly #starts = new Map<UsageHour, Map<string, UsageSums>>();
  #count = 0;
  readonly #total = noSums();
  #hasHidden = false;

  constructor(query: UsageQuery, view: UsageView) {
    this.#query = query;
    this.#view = view;
  }

  found(): Omit<Found, keyof ScannedUsage> {
    const groups = [...this.#starts].flatMap(([start, own]) =>
      [...own].map(([key, sums]) => ({ start, names: key.split("\n").slice(0, -1), sums })),
    );
    return { groups, total: this.#total, hasHidden: this.#hasHidden };
  }

  add(hour: UsageHour, row: UsageRow): void {
    const isOther = row.client === "" && row.metric === "";
    if (!maySeeUsage(row, isOther, this.#view)) {
      this.#hasHidden ||= isOther;
      return;
    }
    const { only, groupBy } = this.#query;
    for (const group in only) if (nameOf(row, isOther, group as UsageGroup) !== only[group as UsageGroup]) return;
    let key = "";
    for (const group of groupBy) key += `${nameOf(row, isOther, group)}\n`;
    addUsage(this.#total, row);
    addUsage(this.#sumsOf(hour, key), row);
  }

  /** @param key the names of the groups, each with a line feed */
  #sumsOf(hour: UsageHour, key: string): UsageSums {
    const { fromHour, stepHours } = this.#query;
    const start = stepHours === undefined ? fromHour : Math.floor(hour / stepHours) * stepHours;
    const groups = this.#starts.get(start) ?? new Map<string, UsageSums>();
    const known = groups.get(key);
    if (known !== undefined) return known;
    this.#count += 1;
    if (this.#count > usageRowsMax) {
      const advice = "use a longer step, a shorter window, fewer groups, or one client, tenant or metric";
      throw new ApiError("result_too_large", `there are more than ${usageRowsMax} rows; ${advice}`);
    }
    const sums = noSums();
    groups.set(key, sums);
    this.#starts.set(start, groups);
    return sums;
  }
}

/** Tests if a row is visible. @param isOther true for a row beyond the bound */
export function maySeeUsage({ client, tenant, metric }: UsageRow, isOther: boolean, view: UsageView): boolean {
  const { isOfAll, access } = view;
  const isTenant = tenant === "" ? access.tenants === "every" : allows(access.tenants, tenant);
  if (isOther) return isOfAll && isTenant && access.metrics === "every";
  return (isOfAll || client === view.client) && isTenant && allows(access.metrics, metric);
}

function nameOf(row: UsageRow, isOther: boolean, group: UsageGroup): string {
  if (group === "class") return row.queryClass;
  if (group === "tenant") return row.tenant === "" ? otherName : row.tenant;
  return isOther ? otherName : row[group];
}

function noSums(): UsageSums {
  return { requests: 0, points: 0, cachedPoints: 0, bytes: 0, estimate: 0, cost: 0 };
}

function responseOf(query: UsageQuery, { isOfAll, access }: UsageView, found: Found): UsageAnswer {
  const { fromHour, toHour, stepHours, groupBy } = query;
  const { completeSinceMs, lost, hasHidden } = found;
  const groups = found.groups.toSorted(inOrder);
  const from = fromHour * hourMs;
  const seesAll = isOfAll && access.tenants === "every" && access.metrics === "every";
  return {
    data: groups.map((group) => itemOf(group, query)),
    meta: {
      from: formatTime(from),
      to: formatTime(toHour * hourMs),
      step_seconds: stepHours === undefined ? null : stepHours * (hourMs / secondMs),
      group_by: groupBy,
      clients: isOfAll ? "all" : "own",
      total: sumsOf(found.total),
      complete: completeSinceMs <= from && lost === 0 && !hasHidden,
      complete_since: formatTime(Math.max(from, completeSinceMs)),
      lost_requests: seesAll ? lost : null,
    },
  };
}

/** By time, then the greatest cost first. */
function inOrder(one: Summed, other: Summed): number {
  return (
    one.start - other.start ||
    other.sums.cost - one.sums.cost ||
    (one.names.join("\n") < other.names.join("\n") ? -1 : 1)
  );
}

function itemOf({ start, names: groupNames, sums }: Summed, { toHour, stepHours, groupBy }: UsageQuery): UsageItem {
  const named = (group: UsageGroup): string | null => groupNames[groupBy.indexOf(group)] ?? null;
  const end = stepHours === undefined ? toHour : Math.min(toHour, start + stepHours);
  return {
    from: formatTime(start * hourMs),
    to: formatTime(end * hourMs),
    client: named("client"),
    tenant: named("tenant"),
    metric: named("metric"),
    class: named("class") as UsageItem["class"],
    ...sumsOf(sums),
  };
}

function sumsOf({ requests, points, cachedPoints, bytes, estimate, cost }: UsageSums): UsageAnswer["meta"]["total"] {
  return {
    requests,
    points,
    cached_points: cachedPoints,
    cache_share: points === 0 ? null : cachedPoints / points,
    bytes,
    cost_estimate: estimate,
    cost,
  };
}
