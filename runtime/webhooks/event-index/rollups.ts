/** The counters of a minute. `attempts` counts requests; `failed` counts deliveries that ended without a success. */
export const rollupCounters = ["attempts", "delivered", "failed", "retried", "accepted"] as const;

export type RollupCounter = (typeof rollupCounters)[number];

/** What one attempt, or the end of a delivery without a request, adds. */
export interface RolledAttempt {
  readonly tenant: string;
  /** `namespace/name`. */
  readonly partner: string;
  /** Start of the attempt, Unix milliseconds. */
  readonly atMs: number;
  readonly outcome: Exclude<RollupCounter, "attempts" | "accepted">;
  /** Duration of the request; undefined if nothing was sent. */
  readonly durationMs: number | undefined;
}

/** Takes a value of a minute. `partner` is empty for accepted events, which have no partner. */
export type TakeValue = (
  of: { readonly tenant: string; readonly partner: string },
  /** Start of the minute, Unix milliseconds. */
  atMs: number,
  /** Place of a counter in {@link rollupCounters}, or {@link firstBucket} and the bucket of a duration. */
  cell: number,
  count: number,
) => void;

/** Which values are read. */
export interface RollupSearch {
  readonly isTenant: (tenant: string) => boolean;
  readonly isPartner: (partner: string) => boolean;
  /** Minutes that start at or after this, Unix milliseconds. */
  readonly fromMs: number;
  /** Minutes that start before this, Unix milliseconds. */
  readonly toMs: number;
}

/** Resolution of rollups. */
export const minuteMs = 60_000;
const hourMs = 3_600_000;
/** Hours that are kept, besides the hour that is under way. */
export const keptHours = 48;
/** The first cell of the histogram. Cells before it are counters. */
export const firstBucket = 8;
/** Cells of a minute; a duration of 49 days is in bucket 233. */
export const cellsMax = 256;
/** Width of a bucket. The middle of a bucket is within 4.9 % of every duration in it. */
const growth = 1.1;
const logGrowth = Math.log(growth);

/** Slots of all hours together: 48 MiB. */
const allSlotsMax = 8 * 1024 * 1024;
/** What the objects of an hour take, in slots. */
const hourOverhead = 64;
const firstSlots = 16;
/** A prime: spreads cells of neighboring minutes. */
const spread = 40_503;

/** The bucket of a duration. */
export function bucketOf(durationMs: number): number {
  return durationMs < 1 ? 0 : 1 + Math.floor(Math.log(durationMs) / logGrowth + 1e-9);
}

/** The duration that stands for all durations of a bucket. */
export function durationOf(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(growth ** (bucket - 0.5));
}

/** The values of one hour: a hash table of counts by minute and cell, 6 bytes a slot. */
interface Hour {
  /** Minute × 256 + cell + 1; 0 for a free slot. */
  keys: Uint16Array;
  counts: Uint32Array;
  used: number;
}

interface Series {
  readonly tenant: string;
  readonly partner: string;
  /** By hour since 1970. */
  readonly hours: Map<number, Hour>;
  newestMs: number;
  /** Start of the last successful attempt, Unix milliseconds; 0 for none. */
  deliveredMs: number;
}

/**
 * Counts by minute for each tenant and partner, of the last 48 hours. All pods fold the same rows in the same order, so
 * their counts are equal.
 */
export class Rollups {
  /** The series that got a new hour last is at the end. */
  readonly #series = new Map<string, Series>();
  readonly #slotsMax: number;
  #slots = 0;
  #oldestHour = 0;
  #droppedMs = 0;

  /** @param slotsMax above it, series go: those that were idle longest first. @default 8 Mi, which is 48 MiB */
  constructor(slotsMax: number = allSlotsMax) {
    this.#slotsMax = slotsMax;
  }

  /** Values before this time may be missing, because their series was dropped for lack of room; 0 for none. */
  get droppedMs(): number {
    return this.#droppedMs;
  }

  /** Bytes of all tables. */
  get bytes(): number {
    return this.#slots * (Uint16Array.BYTES_PER_ELEMENT + Uint32Array.BYTES_PER_ELEMENT);
  }

  /** Drops the hours that are too old at this time. */
  advance(nowMs: number): void {
    const oldest = Math.floor(nowMs / hourMs) - keptHours;
    if (oldest <= this.#oldestHour) return;
    this.#oldestHour = oldest;
    for (const [key, series] of this.#series) {
      for (const hour of series.hours.keys()) if (hour < oldest) this.#dropHour(series, hour);
      if (series.hours.size === 0) this.#series.delete(key);
    }
  }

  addEvent(tenant: string, atMs: number): void {
    this.#add(tenant, "", atMs, [rollupCounters.indexOf("accepted")]);
  }

  addAttempt({ tenant, partner, atMs, outcome, durationMs }: RolledAttempt): void {
    const cells = [rollupCounters.indexOf(outcome)];
    if (durationMs !== undefined) cells.push(rollupCounters.indexOf("attempts"), firstBucket + bucketOf(durationMs));
    this.#add(tenant, partner, atMs, cells, outcome === "delivered" ? atMs : 0);
  }

  /** Starts of the last successful attempts by partner, Unix milliseconds. Partners without one are left out. */
  lastDelivered({ isTenant, isPartner }: Pick<RollupSearch, "isTenant" | "isPartner">): ReadonlyMap<string, number> {
    const last = new Map<string, number>();
    for (const { tenant, partner, deliveredMs } of this.#series.values()) {
      if (deliveredMs === 0 || !isTenant(tenant) || !isPartner(partner)) continue;
      last.set(partner, Math.max(deliveredMs, last.get(partner) ?? 0));
    }
    return last;
  }

  /** Passes every value in the window to `take`, in no order. Yields after each hour of a series. */
  *read({ isTenant, isPartner, fromMs, toMs }: RollupSearch, take: TakeValue): Generator<undefined> {
    for (const series of this.#series.values()) {
      if (!isTenant(series.tenant) || !isPartner(series.partner)) continue;
      for (const [hour, table] of series.hours) {
        const startMs = hour * hourMs;
        if (startMs + hourMs <= fromMs || startMs >= toMs) continue;
        takeHour(table, startMs, (atMs, cell, count) => {
          if (atMs >= fromMs && atMs < toMs) take(series, atMs, cell, count);
        });
        yield undefined;
      }
    }
  }

  #add(tenant: string, partner: string, atMs: number, cells: readonly number[], deliveredMs = 0): void {
    const hour = Math.floor(atMs / hourMs);
    if (hour < this.#oldestHour) return;
    const series = this.#seriesOf(tenant, partner);
    series.newestMs = Math.max(series.newestMs, atMs);
    series.deliveredMs = Math.max(series.deliveredMs, deliveredMs);
    const table = series.hours.get(hour) ?? this.#startHour(series, hour);
    const first = Math.floor((atMs % hourMs) / minuteMs) * cellsMax;
    for (const cell of cells) this.#increment(table, first + cell + 1);
    if (this.#slots > this.#slotsMax) this.#makeRoom();
  }

  #seriesOf(tenant: string, partner: string): Series {
    const known = this.#series.get(keyOf(tenant, partner));
    return known ?? { tenant, partner, hours: new Map<number, Hour>(), newestMs: 0, deliveredMs: 0 };
  }

  /** A series is listed from its first hour on. */
  #startHour(series: Series, hour: number): Hour {
    const made = { keys: new Uint16Array(firstSlots), counts: new Uint32Array(firstSlots), used: 0 };
    series.hours.set(hour, made);
    const key = keyOf(series.tenant, series.partner);
    this.#series.delete(key);
    this.#series.set(key, series);
    this.#slots += firstSlots + hourOverhead;
    return made;
  }

  #increment(table: Hour, key: number): void {
    const slot = slotOf(table.keys, key);
    if (table.keys[slot] === key) {
      table.counts[slot] = (table.counts[slot] ?? 0) + 1;
      return;
    }
    table.keys[slot] = key;
    table.counts[slot] = 1;
    table.used += 1;
    if (table.used * 4 <= table.keys.length * 3) return;
    this.#slots += table.keys.length;
    enlarge(table);
  }

  #makeRoom(): void {
    for (const [key, series] of this.#series) {
      if (this.#slots <= this.#slotsMax || this.#series.size === 1) return;
      this.#droppedMs = Math.max(this.#droppedMs, series.newestMs + 1);
      for (const hour of series.hours.keys()) this.#dropHour(series, hour);
      this.#series.delete(key);
    }
  }

  #dropHour({ hours }: Series, hour: number): void {
    this.#slots -= hourOverhead + (hours.get(hour)?.keys.length ?? 0);
    hours.delete(hour);
  }
}

function keyOf(tenant: string, partner: string): string {
  return `${tenant}\n${partner}`;
}

/** The slot of a key, or the free one for it. A quarter of the slots is free. */
function slotOf(keys: Uint16Array, key: number): number {
  const mask = keys.length - 1;
  let slot = Math.imul(key, spread) & mask;
  while (keys[slot] !== 0 && keys[slot] !== key) slot = (slot + 1) & mask;
  return slot;
}

function enlarge(table: Hour): void {
  const { keys, counts } = table;
  table.keys = new Uint16Array(2 * keys.length);
  table.counts = new Uint32Array(2 * keys.length);
  for (const [at, key] of keys.entries()) {
    if (key === 0) continue;
    const slot = slotOf(table.keys, key);
    table.keys[slot] = key;
    table.counts[slot] = counts[at] ?? 0;
  }
}

function takeHour(
  { keys, counts }: Hour,
  startMs: number,
  take: (atMs: number, cell: number, count: number) => void,
): void {
  for (let slot = 0; slot < keys.length; slot += 1) {
    const key = (keys[slot] ?? 0) - 1;
    if (key >= 0) take(startMs + Math.floor(key / cellsMax) * minuteMs, key % cellsMax, counts[slot] ?? 0);
  }
}
