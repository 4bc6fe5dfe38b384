import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** How long a wait may take and what it waits for, as it should read in the error. */
interface WaitOptions {
  readonly timeoutMs: number;
  readonly what: string;
  /** Pause between two looks. @default 25 */
  readonly pollMs?: number;
}

const pollMsDefault = 25;

/**
 * Looks at a condition until it is truthy and answers its value. A look that throws counts as "not yet"; the last such
 * error is the cause of the one thrown at the deadline. Time that the host took from this machine does not count.
 *
 * @throws Error that names `what` when `timeoutMs` pass first
 */
export async function waitFor<T>(condition: () => T | Promise<T>, options: WaitOptions): Promise<NonNullable<T>> {
  const startedMs = performance.now();
  const before = stolenTicks();
  const isLate = (): boolean => {
    const passedMs = performance.now() - startedMs;
    return passedMs >= options.timeoutMs && ownMs(passedMs, before, stolenTicks()) >= options.timeoutMs;
  };
  let cause: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (isLate()) {
      const detail = cause instanceof Error ? `: ${cause.message}` : "";
      throw new Error(`waited ${options.timeoutMs} ms in vain for ${options.what}${detail}`, { cause });
    }
    await sleep(options.pollMs ?? pollMsDefault);
  }
}

/** Ticks of all cores since the start of the machine. */
export interface StolenTicks {
  /** Spent by programs of this machine. */
  readonly used: number;
  /** Wanted by them and spent by the host on others. */
  readonly stolen: number;
}

const nothingStolen: StolenTicks = { used: 0, stolen: 0 };

/** Reads the first line of `/proc/stat`; nothing is stolen where there is none. */
function stolenTicks(): StolenTicks {
  try {
    return parseStolenTicks(readFileSync("/proc/stat", "utf8"));
  } catch {
    return nothingStolen;
  }
}

export function parseStolenTicks(stat: string): StolenTicks {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, stolen = 0] = (stat.split("\n")[0] ?? "")
    .trim()
    .split(/\s+/u)
    .slice(1)
    .map(Number);
  return { used: user + nice + system + irq + softIrq, stolen };
}

/** A host that takes nearly everything still ends a wait. */
const shareMin = 0.2;

/** The part of a time in which programs of this machine ran as far as they wanted to. */
export function ownMs(passedMs: number, before: StolenTicks, after: StolenTicks): number {
  const used = after.used - before.used;
  const wanted = used + after.stolen - before.stolen;
  return wanted <= 0 ? passedMs : passedMs * Math.max(shareMin, used / wanted);
}

/**
 * What a busy machine may add to any time, in milliseconds: one with two cores stops a process for seconds now and
 * then.
 */
export const stallMsMax = 10_000;

const triesMax = 5;

/**
 * The time of the quickest of a few tries in milliseconds: what the product takes, without what else the machine does
 * now and then. The first try below the bound is the last one.
 *
 * @param timed - what is timed; it may return the time of a part of itself
 */
export async function quickestMs(boundMs: number, timed: (index: number) => Promise<number | void>): Promise<number> {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let index = 0; index < triesMax && bestMs >= boundMs; index += 1) {
    const startedMs = performance.now();
    const partMs = await timed(index);
    bestMs = Math.min(bestMs, partMs ?? performance.now() - startedMs);
  }
  return bestMs;
}
