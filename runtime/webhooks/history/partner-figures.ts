import type { FailureCause, PartnerRecent } from "../../../api/partner-health.ts";
import { createTimeSlices } from "../../../limits/clock.ts";
import type { EventIndex } from "../event-index/event-index.ts";
import { cellsMax, minuteMs, rollupCounters } from "../event-index/rollups.ts";
import { includesTenant } from "../ids.ts";
import { percentileOf } from "./delivery-stats.ts";
import { causeOf } from "./last-failure.ts";

/** Attempts and those that failed. */
export interface FailureShare {
  readonly attempts: number;
  readonly failed: number;
}

/** What the rollups contain about a partner. */
export interface PartnerFigures {
  readonly recent: PartnerRecent;
  /** Attempts of the last 15 minutes. */
  readonly latest: FailureShare;
  /** Failed attempts of the last 24 hours after the last success. */
  readonly failedSinceSuccess: number;
  /** Attempts in the minutes after the last one with a failure: the newest ones, which all succeeded. */
  readonly succeededSinceFailure: number;
  /**
   * Minute of the first failure of those that make it failing: before the last minute in which half of the attempts or
   * more failed, after the last 5 minutes in which less than half did. Undefined if there is no such minute.
   */
  readonly failingSinceMs: number | undefined;
  /** The failed attempt that began last; null if none is known. */
  readonly lastFailure: FailureCause | null;
}

interface FiguresQuery {
  /** Tenants of the caller. `*`: all. */
  readonly tenants: readonly string[];
  /** `namespace/name`; the caller may see them. */
  readonly partners: ReadonlySet<string>;
  readonly nowMs: number;
}

const dayMs = 86_400_000;
const latestMs = 15 * minuteMs;
/** Intervals of which it is known whether the partner failed. */
const intervalMs = 5 * minuteMs;
const minutesOfInterval = intervalMs / minuteMs;
const intervals = dayMs / intervalMs + 1;
const most = 0.95;
const [attemptsCell, deliveredCell] = [rollupCounters.indexOf("attempts"), rollupCounters.indexOf("delivered")];
const slices = createTimeSlices();

/** Share of failed attempts from which on a partner is failing. */
export const failingShare = 0.5;

/** Counts of one partner. */
class Counts {
  readonly #fromMs: number;
  readonly #toMs: number;
  readonly #lastMs: number;
  readonly #cells = new Uint32Array(cellsMax);
  /** By minute. */
  readonly #attempts = new Uint32Array(intervals * minutesOfInterval);
  readonly #delivered = new Uint32Array(intervals * minutesOfInterval);
  readonly #latest = { attempts: 0, delivered: 0 };
  #failedSinceSuccess = 0;

  /** @param lastMs start of the last successful attempt, Unix milliseconds. @default 0 for none */
  constructor(fromMs: number, toMs: number, lastMs = 0) {
    this.#fromMs = fromMs;
    this.#toMs = toMs;
    this.#lastMs = lastMs;
  }

  add(atMs: number, cell: number, count: number): void {
    this.#cells[cell] = (this.#cells[cell] ?? 0) + count;
    const minute = Math.floor((atMs - this.#fromMs) / minuteMs);
    const isLatest = atMs >= this.#toMs - minuteMs - latestMs;
    if (cell === attemptsCell) {
      this.#attempts[minute] = (this.#attempts[minute] ?? 0) + count;
      if (isLatest) this.#latest.attempts += count;
      if (atMs > this.#lastMs) this.#failedSinceSuccess += count;
    } else if (cell === deliveredCell) {
      this.#delivered[minute] = (this.#delivered[minute] ?? 0) + count;
      if (isLatest) this.#latest.delivered += count;
    }
  }

  figures(isComplete: boolean): Omit<PartnerFigures, "lastFailure"> {
    const [attempts, delivered] = [this.#cells[attemptsCell] ?? 0, this.#cells[deliveredCell] ?? 0];
    const latest = this.#latest;
    return {
      recent: {
        attempts,
        success_rate: attempts === 0 ? null : Math.min(1, delivered / attempts),
        p95_ms: percentileOf(this.#cells, most),
        last_success_at: this.#lastMs === 0 ? null : new Date(this.#lastMs).toISOString(),
        complete: isComplete,
      },
      latest: { attempts: latest.attempts, failed: Math.max(0, latest.attempts - latest.delivered) },
      failedSinceSuccess: this.#failedSinceSuccess,
      succeededSinceFailure: this.#succeededSinceFailure(),
      failingSinceMs: this.#failingSinceMs(),
    };
  }

  #succeededSinceFailure(): number {
    const last = this.#attempts.findLastIndex((count, at) => count > (this.#delivered[at] ?? 0));
    return sumOf(this.#attempts, last + 1, this.#attempts.length);
  }

  #failingSinceMs(): number | undefined {
    const isGood = (from: number, minutes: number): boolean => {
      const [attempts, delivered] = [sumOf(this.#attempts, from, minutes), sumOf(this.#delivered, from, minutes)];
      return attempts - delivered < failingShare * attempts;
    };
    // A partner that recovered may be failing by the attempts of 15 minutes: the search starts where it failed last.
    const last = this.#attempts.findLastIndex((count, at) => count > 0 && !isGood(at, 1));
    if (last < 0) return undefined;
    let interval = Math.floor(last / minutesOfInterval);
    let end = last + 1;
    while (interval >= 0 && !isGood(interval * minutesOfInterval, end - interval * minutesOfInterval)) {
      end = interval * minutesOfInterval;
      interval -= 1;
    }
    // The last minutes of that interval may have failed already.
    let first = Math.min((interval + 1) * minutesOfInterval, last);
    while (first > interval * minutesOfInterval && first > 0 && !isGood(first - 1, 1)) first -= 1;
    const found = this.#attempts.findIndex((count, at) => at >= first && count > (this.#delivered[at] ?? 0));
    return found < 0 ? undefined : this.#fromMs + found * minuteMs;
  }
}

/** Sum of some minutes. */
function sumOf(counts: Uint32Array, from: number, minutes: number): number {
  return counts.subarray(from, from + minutes).reduce((sum, count) => sum + count, 0);
}

/**
 * Reads the figures of some partners from the rollups. Partners without attempts have figures too.
 *
 * @throws Error if JetStream does not respond
 */
export async function readPartnerFigures(
  index: EventIndex,
  { tenants, partners, nowMs }: FiguresQuery,
): Promise<ReadonlyMap<string, PartnerFigures>> {
  const { columns, rollupsReachMs } = await index.read();
  const isCounted = {
    isTenant: (tenant: string): boolean => includesTenant(tenants, tenant),
    isPartner: (label: string): boolean => partners.has(label),
  };
  const toMs = Math.floor(nowMs / minuteMs) * minuteMs + minuteMs;
  const fromMs = Math.floor((nowMs - dayMs) / intervalMs) * intervalMs;
  const failures = columns.lastFailed(isCounted);
  const lastSuccess = columns.rollups.lastDelivered(isCounted);
  const counts = new Map([...partners].map((label) => [label, new Counts(fromMs, toMs, lastSuccess.get(label))]));
  const reading = columns.rollups.read({ ...isCounted, fromMs, toMs }, ({ partner }, ...value) =>
    counts.get(partner)?.add(...value),
  );
  await slices.collect(reading);
  const isComplete = rollupsReachMs <= fromMs;
  return new Map(
    [...counts].map(([label, one]) => [
      label,
      { ...one.figures(isComplete), lastFailure: causeOf(failures.get(label)) },
    ]),
  );
}
