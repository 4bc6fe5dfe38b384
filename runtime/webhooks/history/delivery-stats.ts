import {
  type deliveryGroups,
  deliveryStatsRowsMax,
  type DeliveryStatsRow,
  type DeliveryTotals,
} from "../../../api/delivery-stats.ts";
import { createTimeSlices } from "../../../limits/clock.ts";
import type { EventIndex } from "../event-index/event-index.ts";
import { cellsMax, durationOf, firstBucket, rollupCounters, type RollupCounter } from "../event-index/rollups.ts";
import { includesTenant } from "../ids.ts";
import { isNarrowed, mayNamePartner, type PartnerAccess } from "./history-view.ts";

/** Figures of deliveries over time, within the rights of a caller. */
export interface DeliveryStatsQuery extends PartnerAccess {
  /** Tenants of the caller. `*`: all. */
  readonly tenants: readonly string[];
  /** @default all that the caller may see */
  readonly partner?: string | undefined;
  /** @default all that the caller may see */
  readonly tenant?: string | undefined;
  /** @default one row for each step */
  readonly groupBy?: (typeof deliveryGroups)[number] | undefined;
  /** Unix milliseconds; a multiple of the step. */
  readonly fromMs: number;
  /** Unix milliseconds; a multiple of a minute. */
  readonly toMs: number;
  readonly stepMs: number;
}

export interface DeliveryStatsRead {
  readonly rows: readonly DeliveryStatsRow[];
  /** Figures of all rows. */
  readonly totals: DeliveryTotals;
  /** False if figures of the window may be missing. */
  readonly isComplete: boolean;
  /** Start of the part of the window whose figures are complete, Unix milliseconds. */
  readonly completeFromMs: number;
}

const [half, most] = [0.5, 0.95];
const slices = createTimeSlices();

/** Counts of a row by cell. */
type Cells = Uint32Array;

/** Rows by group, then by step. */
class Rows {
  readonly groups = new Map<string, Map<number, Cells>>();
  #count = 0;

  get isFull(): boolean {
    return this.#count > deliveryStatsRowsMax;
  }

  /** The counts of a row; undefined if there would be too many rows. */
  at(group: string, step: number): Cells | undefined {
    const steps = this.groups.get(group) ?? new Map<number, Cells>();
    const known = steps.get(step);
    if (known !== undefined || this.isFull) return known;
    this.#count += 1;
    const cells = new Uint32Array(cellsMax);
    steps.set(step, cells);
    this.groups.set(group, steps);
    return cells;
  }
}

/**
 * Reads the rollups of attempts and accepted events, without pings. Undefined if there would be too many rows.
 *
 * @throws Error if JetStream does not respond
 */
export async function readDeliveryStats(
  index: EventIndex,
  query: DeliveryStatsQuery,
): Promise<DeliveryStatsRead | undefined> {
  const { columns, rollupsReachMs } = await index.read();
  const { fromMs, toMs, stepMs, groupBy } = query;
  const rows = new Rows();
  if (groupBy === undefined) for (let step = 0; step < (toMs - fromMs) / stepMs; step += 1) rows.at("", step);
  const isCounted = { isTenant: tenantTest(query), isPartner: partnerTest(query), fromMs, toMs };
  const reading = columns.rollups.read(isCounted, (of, atMs, cell, count) => {
    const cells = rows.at(groupBy === undefined ? "" : of[groupBy], Math.floor((atMs - fromMs) / stepMs));
    if (cells !== undefined) cells[cell] = (cells[cell] ?? 0) + count;
  });
  await slices.collect(reading);
  if (rows.isFull) return undefined;
  return {
    rows: rowsOf(rows, query),
    totals: figuresOf(sumOf(rows), query),
    isComplete: rollupsReachMs <= fromMs,
    completeFromMs: Math.min(Math.max(rollupsReachMs, fromMs), toMs),
  };
}

function tenantTest({ tenants, tenant }: DeliveryStatsQuery): (name: string) => boolean {
  return (name) => (tenant === undefined || name === tenant) && includesTenant(tenants, name);
}

/** Accepted events, which have no partner, pass if the rows are about all partners. */
function partnerTest(query: DeliveryStatsQuery): (label: string) => boolean {
  const countsEvents = isAboutEvents(query);
  const isRequested = (label: string): boolean => query.partner === undefined || label === query.partner;
  return (label) => (label === "" ? countsEvents : isRequested(label) && mayNamePartner(query, label));
}

function isAboutEvents(query: DeliveryStatsQuery): boolean {
  return query.partner === undefined && query.groupBy !== "partner" && !isNarrowed(query);
}

function rowsOf({ groups }: Rows, query: DeliveryStatsQuery): readonly DeliveryStatsRow[] {
  const rows = [...groups].flatMap(([group, steps]) => [...steps].map(([step, cells]) => ({ group, step, cells })));
  return rows
    .toSorted((a, b) => a.step - b.step || (a.group < b.group ? -1 : 1))
    .map(({ group, step, cells }) => ({
      at: new Date(query.fromMs + step * query.stepMs).toISOString(),
      partner: query.groupBy === "partner" ? group : null,
      tenant: query.groupBy === "tenant" ? group : null,
      ...figuresOf(cells, query),
    }));
}

function sumOf({ groups }: Rows): Cells {
  const sums = new Uint32Array(cellsMax);
  for (const steps of groups.values())
    for (const cells of steps.values())
      for (const [cell, count] of cells.entries()) sums[cell] = (sums[cell] ?? 0) + count;
  return sums;
}

function figuresOf(cells: Cells, query: DeliveryStatsQuery): DeliveryTotals {
  const count = (counter: RollupCounter): number => cells[rollupCounters.indexOf(counter)] ?? 0;
  return {
    accepted: isAboutEvents(query) ? count("accepted") : null,
    attempts: count("attempts"),
    delivered: count("delivered"),
    failed: count("failed"),
    retried: count("retried"),
    p50_ms: percentileOf(cells, half),
    p95_ms: percentileOf(cells, most),
  };
}

/** The duration at this share of all attempts; null without any. Source: nearest rank. */
export function percentileOf(cells: Uint32Array, share: number): number | null {
  const buckets = cells.subarray(firstBucket);
  let left = Math.ceil(share * buckets.reduce((sum, count) => sum + count, 0));
  if (left === 0) return null;
  return durationOf(buckets.findIndex((count) => (left -= count) <= 0));
}
