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

/**
 * Spreads the attempts of a lane over turns of the event loop. A backlog that drains would otherwise start as many
 * attempts at once as the partner has places. A fast endpoint would answer all of them during one turn, and the work of
 * other partners would wait until all have ended, again and again.
 */
export class TurnStarts {
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

  /**
   * @param startsMax starts in one turn. @default 4
   * @param endsMax ends in one turn that do not reduce the attempts at once. @default 8
   * @param isLimited whether attempts are ever reduced. False for several endpoints, of which some may be slow
   */
  constructor({ startsMax = startsMaxDefault, endsMax = endsMaxDefault, isLimited = true } = {}) {
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
    } else await new Promise<void>((resolve) => this.#waiting.push(resolve));
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
    const ready = this.#waiting.splice(0, Math.max(0, Math.min(this.#startsMax, this.#runningMax - this.#running)));
    this.#started = ready.length;
    this.#running += ready.length;
    ready.forEach((start) => start());
    if (ready.length > 0) this.#schedule();
    else if (this.#waiting.length > 0) this.#lookSoon();
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
    const timer = setTimeout(() => {
      this.#isLooking = false;
      if (this.#isStill) this.#runningMax *= 2;
      this.#isStill = true;
      this.#schedule();
    }, stillMs);
    timer.unref();
  }
}
