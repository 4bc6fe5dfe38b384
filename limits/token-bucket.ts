/** The rate of a token bucket. */
export interface Rate {
  readonly perSecond: number;
  /** Most tokens at once: the capacity of the bucket. */
  readonly burst: number;
}

/** The tokens of a bucket at an instant. They are below zero when the cost turned out higher than expected. */
export interface Bucket {
  readonly tokens: number;
  /** Milliseconds. All calls for one bucket use one clock. */
  readonly atMs: number;
}

/** A bucket from which no token was taken. */
export function fullBucket({ burst }: Rate, atMs: number): Bucket {
  return { tokens: burst, atMs };
}

/** The bucket at a later instant. Tokens above the burst are lost, for example after a lower limit was set. */
export function refilled(bucket: Bucket, { perSecond, burst }: Rate, nowMs: number): Bucket {
  const elapsedMs = Math.max(0, nowMs - bucket.atMs);
  return {
    tokens: Math.min(burst, bucket.tokens + (elapsedMs * perSecond) / 1_000),
    atMs: Math.max(bucket.atMs, nowMs),
  };
}

/** The bucket less `count` tokens, which can be more than it has. */
export function spent(bucket: Bucket, count: number): Bucket {
  return { ...bucket, tokens: bucket.tokens - count };
}

/** Milliseconds until the bucket has `count` tokens; infinite for more than its burst. */
export function waitMs({ tokens }: Bucket, { perSecond, burst }: Rate, count: number): number {
  if (count > burst) return Number.POSITIVE_INFINITY;
  return Math.max(0, ((count - tokens) * 1_000) / perSecond);
}

/**
 * A token bucket whose tokens can be taken in advance: the caller waits until its token exists. The clock belongs to
 * the caller, in milliseconds, and never goes back.
 */
export class RateLimiter {
  #rate: Rate;
  #bucket: Bucket;

  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#bucket = fullBucket(rate, nowMs);
  }

  /** Changes the rate. Available tokens stay, up to the new burst. */
  change(rate: Rate, nowMs: number): void {
    // The tokens until now were added at the old rate.
    this.#fill(nowMs);
    this.#rate = rate;
    this.#fill(nowMs);
  }

  /** Takes one token; returns the milliseconds until it exists. */
  take(nowMs: number): number {
    this.#bucket = spent(this.#fill(nowMs), 1);
    return waitMs(this.#bucket, this.#rate, 0);
  }

  /** Whole tokens that exist now. */
  available(nowMs: number): number {
    return Math.max(0, Math.floor(this.#fill(nowMs).tokens));
  }

  /** Milliseconds until `count` tokens exist, or a full bucket if that is less. */
  waitMs(count: number, nowMs: number): number {
    return waitMs(this.#fill(nowMs), this.#rate, Math.min(count, this.#rate.burst));
  }

  #fill(nowMs: number): Bucket {
    this.#bucket = refilled(this.#bucket, this.#rate, nowMs);
    return this.#bucket;
  }
}

/** Requests one line of a log. Returns the number of lines dropped before it; undefined when this line is dropped. */
type LineLimit = () => number | undefined;

/** Rate of log lines that callers cause, so that callers cannot fill a disk. */
const lineRate: Rate = { perSecond: 20, burst: 200 };

/** Creates a full limit. @param now Unix milliseconds */
export function createLineLimit(now: () => number): LineLimit {
  let bucket = fullBucket(lineRate, now());
  let dropped = 0;
  return () => {
    bucket = refilled(bucket, lineRate, now());
    if (bucket.tokens < 1) {
      dropped += 1;
      return undefined;
    }
    bucket = spent(bucket, 1);
    const before = dropped;
    dropped = 0;
    return before;
  };
}

/** Time in which the event loop of this process has worked and waited so far, in milliseconds. */
export type LoopTimes = () => { readonly active: number; readonly idle: number };

/** Share of the time in which the event loop may work. */
const busyShare = 0.5;
/** Time over which that share is measured, and the longest one that says something. */
const windowMs = { least: 25, most: 250 } as const;
/** Growth of the pace after a window with time to spare. */
const growth = 1.15;
/** Starts a millisecond above which there is no limit. */
const perMsMax = 16;

/**
 * Limits starts of work that others must not notice. They adapt so that the event loop waits for a part of the time;
 * otherwise each step of other work would find it, and the servers and processors behind it, busy.
 */
export class LoopPace {
  readonly #loop: LoopTimes;
  #perMs = Number.POSITIVE_INFINITY;
  /** False until other work was seen: its first pace is the least one. */
  #isShared = false;
  #tokens = 0;
  #atMs = 0;
  #window = { sinceMs: 0, active: 0, idle: 0, starts: 0 };

  constructor(loop: LoopTimes) {
    this.#loop = loop;
  }

  /** True when a window has passed, after which {@link adapt} is to be called. */
  isDue(nowMs: number): boolean {
    return nowMs - this.#window.sinceMs >= windowMs.least;
  }

  /** @param least starts a millisecond that are always allowed; undefined for no limit */
  adapt(least: number | undefined, nowMs: number): void {
    const { active, idle } = this.#loop();
    const { sinceMs, starts, ...before } = this.#window;
    const passedMs = nowMs - sinceMs;
    const workedMs = active - before.active;
    const share = workedMs / Math.max(1, workedMs + idle - before.idle);
    this.#window = { sinceMs: nowMs, active, idle, starts: 0 };
    if (least === undefined || passedMs > windowMs.most) {
      this.#perMs = Number.POSITIVE_INFINITY;
      this.#isShared = false;
      return;
    }
    if (!this.#isShared) {
      this.#perMs = least;
      this.#isShared = true;
      return;
    }
    const perMs = this.#perMs === Number.POSITIVE_INFINITY ? starts / passedMs : this.#perMs;
    const next = share > busyShare ? (perMs * busyShare) / share : this.#perMs * growth;
    this.#perMs = Math.max(least, next) > perMsMax ? Number.POSITIVE_INFINITY : Math.max(least, next);
  }

  /** Takes as many starts as are allowed now. @param burst starts at once after a wait */
  take(wanted: number, burst: number, nowMs: number): number {
    const earned = (nowMs - this.#atMs) * Math.min(this.#perMs, perMsMax);
    const isLimited = this.#perMs !== Number.POSITIVE_INFINITY;
    this.#tokens = Math.min(burst, this.#tokens + earned);
    this.#atMs = nowMs;
    const taken = isLimited ? Math.min(wanted, Math.floor(this.#tokens)) : wanted;
    this.#tokens = Math.max(0, this.#tokens - taken);
    this.#window.starts += taken;
    return taken;
  }
}
