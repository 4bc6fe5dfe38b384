import { performance } from "node:perf_hooks";
import { backgroundClock, type Clock } from "../../../limits/clock.ts";
import { LoopPace, type LoopTimes } from "../../../limits/token-bucket.ts";

/** Starts in one turn of the event loop, which then takes a millisecond or two. */
const startsMaxDefault = 4;
/**
 * Attempts that may end in one turn, and attempts at once below which there is no limit. More of them waited for this
 * process and not for the endpoint.
 */
const endsMaxDefault = 8;
/** What remains of the attempts at once after such a turn. */
const reduction = 0.75;
/** The limit doubles when no attempt ends for so long, because the endpoint is slow. */
const stillMs = 50;

/** A lane counts as active, or as one with a backlog, for so long after it was. */
const recentMs = 1_000;
/** The next look after starts were held back. */
const tickMs = 1;
/** Time over which starts of a lane are counted. */
const countMs = 250;
/** A lane with a backlog is held back only if it starts so many times as many attempts as the busiest one without. */
const timesMax = 4;
/** Starts a millisecond that are never held back: of all lanes with a backlog together, and of each of them. */
const leastPerMs = { together: 1, each: 0.1 } as const;

interface LaneStarts {
  startedMs: number;
  behindMs: number;
  /** Starts since then, and the rate of those before. */
  sinceMs: number;
  starts: number;
  perMs: number;
}

/** Which lanes of a pod started attempts lately, and which of them have a backlog. */
export class LaneActivity {
  readonly #lanes = new Map<string, LaneStarts>();
  #prunedMs = 0;

  /** Notes that a lane started an attempt. @param isBehind whether more of its deliveries wait here than may start */
  note(lane: string, isBehind: boolean, nowMs: number): void {
    if (nowMs - this.#prunedMs > recentMs) this.#prune(nowMs);
    const first = { startedMs: nowMs, behindMs: Number.NEGATIVE_INFINITY, sinceMs: nowMs, starts: 0, perMs: 0 };
    const known = this.#lanes.get(lane) ?? first;
    if (known === first) this.#lanes.set(lane, known);
    known.startedMs = nowMs;
    known.starts += 1;
    if (isBehind) known.behindMs = nowMs;
    if (nowMs - known.sinceMs < countMs) return;
    known.perMs = known.starts / (nowMs - known.sinceMs);
    known.sinceMs = nowMs;
    known.starts = 0;
  }

  /**
   * Starts a millisecond that a lane with a backlog may make however busy the event loop is: its part of those that
   * are never held back, or four times those of the busiest lane without a backlog. Undefined if there is no such lane.
   */
  least(nowMs: number): number | undefined {
    this.#prune(nowMs);
    const all = [...this.#lanes.values()];
    const prompt = all.filter(({ behindMs }) => nowMs - behindMs > recentMs);
    if (prompt.length === 0) return undefined;
    const share = leastPerMs.together / Math.max(1, all.length - prompt.length);
    return Math.max(leastPerMs.each, share, timesMax * Math.max(...prompt.map(({ perMs }) => perMs)));
  }

  #prune(nowMs: number): void {
    this.#prunedMs = nowMs;
    for (const [lane, { startedMs }] of this.#lanes) if (nowMs - startedMs > recentMs) this.#lanes.delete(lane);
  }
}

interface TurnStartsOptions {
  readonly startsMax?: number;
  readonly endsMax?: number;
  readonly isLimited?: boolean;
  readonly lane?: string;
  readonly activity?: LaneActivity;
  readonly clock?: Clock;
  readonly loop?: LoopTimes;
}

/**
 * Spreads the attempts of a lane over turns of the event loop. A backlog that drains would otherwise start as many
 * attempts at once as the partner has places. A fast endpoint would answer all of them during one turn, and the work of
 * other partners would wait until all have ended, again and again.
 */
export class TurnStarts {
  readonly #lane: string;
  readonly #activity: LaneActivity;
  readonly #clock: Clock;
  readonly #pace: LoopPace;
  readonly #startsMax: number;
  readonly #endsMax: number;
  readonly #waiting: (() => void)[] = [];
  /** Attempts at once. No limit until too many end in one turn. */
  #runningMax = Number.POSITIVE_INFINITY;
  #running = 0;
  /** Starts and ends of this turn. */
  #started = 0;
  #ended = 0;
  /** True when no attempt has ended since the last look. */
  #isStill = true;
  #isScheduled = false;
  #isLooking = false;
  #isTicking = false;

  /**
   * @param startsMax starts in one turn. @default 4
   * @param endsMax ends in one turn that do not reduce the attempts at once. @default 8
   * @param isLimited whether attempts are ever reduced. False for several endpoints, of which some may be slow
   * @param lane names the lane among those of the pod, with `activity`
   */
  constructor({
    startsMax = startsMaxDefault,
    endsMax = endsMaxDefault,
    isLimited = true,
    lane = "",
    activity = new LaneActivity(),
    clock = backgroundClock,
    loop = () => performance.eventLoopUtilization(),
  }: TurnStartsOptions = {}) {
    this.#lane = lane;
    this.#activity = activity;
    this.#clock = clock;
    this.#pace = new LoopPace(loop);
    this.#startsMax = startsMax;
    this.#endsMax = isLimited ? endsMax : Number.POSITIVE_INFINITY;
  }

  /**
   * Resolves when the caller may start: now, or in one of the next turns, in the order of the calls. It must call
   * {@link end} once.
   */
  async next(): Promise<void> {
    this.#schedule();
    if (this.#started < this.#startsMax && this.#running < this.#runningMax && this.#waiting.length === 0) {
      this.#started += 1;
      this.#running += 1;
      this.note();
    } else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Notes an attempt that starts without waiting for its turn. */
  note(): void {
    this.#activity.note(this.#lane, false, this.#clock.nowMs());
  }

  /** Notes the end of what was started. */
  end(): void {
    this.#running -= 1;
    this.#ended += 1;
    this.#isStill = false;
    this.#schedule();
  }

  #schedule(): void {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => this.#turn());
    }
  }

  #turn(): void {
    this.#isScheduled = false;
    this.#adapt();
    const open = Math.max(0, Math.min(this.#startsMax, this.#runningMax - this.#running));
    const ready = this.#waiting.splice(0, this.#waiting.length === 0 ? 0 : this.#paced(open));
    this.#started = ready.length;
    this.#running += ready.length;
    ready.forEach((start) => start());
    if (this.#waiting.length > 0 && ready.length < open) this.#tickSoon();
    else if (ready.length > 0) this.#schedule();
    else if (this.#waiting.length > 0) this.#lookSoon();
  }

  /** Starts that the other lanes leave to this one. */
  #paced(open: number): number {
    const nowMs = this.#clock.nowMs();
    this.#activity.note(this.#lane, this.#waiting.length > open, nowMs);
    if (this.#pace.isDue(nowMs)) this.#pace.adapt(this.#activity.least(nowMs), nowMs);
    return this.#pace.take(Math.min(open, this.#waiting.length), this.#startsMax, nowMs);
  }

  #tickSoon(): void {
    if (this.#isTicking) return;
    this.#isTicking = true;
    this.#clock.after(tickMs, () => {
      this.#isTicking = false;
      this.#schedule();
    });
  }

  #adapt(): void {
    const before = this.#running + this.#ended;
    if (this.#ended > this.#endsMax) this.#runningMax = Math.max(this.#endsMax, Math.floor(before * reduction));
    else if (this.#ended > 0 && before >= this.#runningMax) this.#runningMax += 1;
    this.#ended = 0;
  }

  #lookSoon(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#clock.after(stillMs, () => {
      this.#isLooking = false;
      if (this.#isStill) this.#runningMax *= 2;
      this.#isStill = true;
      this.#schedule();
    });
  }
}
