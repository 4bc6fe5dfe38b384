/** Times of one stored message: sent, stored by JetStream, and answered. */
interface ClockSample {
  /** By {@link StreamClock.localMs}. */
  readonly sentAtMs: number;
  /** Unix milliseconds by JetStream's clock. */
  readonly storedAtMs: number;
  /** By {@link StreamClock.localMs}. */
  readonly receivedAtMs: number;
}

/**
 * Estimate of JetStream's clock. Schedules, ages and `X-Timestamp` use it, so the clocks of pods do not matter. It
 * counts on from the last samples with a monotonic clock: a step of this machine's wall clock changes nothing.
 */
export type StreamClock = ReturnType<typeof createStreamClock>;

/** A sample, as the bounds between which the offset was. */
interface Bounds {
  readonly roundTripMs: number;
  readonly lowMs: number;
  readonly highMs: number;
  readonly atMs: number;
}

const samplesKept = 16;
/** Both clocks of a sample may be slewed by NTP at this rate. Source: adjtimex(2), 500 parts per million. */
const driftShare = 0.001;
/** Both clocks count whole milliseconds. */
const countMs = 1;

/**
 * @param wallNow this machine's wall clock, Unix milliseconds
 * @param localNow a monotonic clock, milliseconds. @default performance.now
 */
export function createStreamClock(wallNow: () => number, localNow = () => performance.now()) {
  let samples: readonly Bounds[] = [];
  let offsetMs: number | undefined;
  let errorMs = 0;
  return {
    /**
     * Takes a sample. Of the last 16, the one with the shortest round trip counts. Earlier samples that contradict a
     * new one are discarded: JetStream's clock was set, or this machine was suspended. A negative round trip is
     * ignored.
     */
    observe: ({ sentAtMs, storedAtMs, receivedAtMs }: ClockSample) => {
      const roundTripMs = receivedAtMs - sentAtMs;
      if (!(roundTripMs >= 0)) return;
      const next = { roundTripMs, lowMs: storedAtMs - receivedAtMs, highMs: storedAtMs - sentAtMs, atMs: receivedAtMs };
      samples = [...samples.filter((sample) => isConsistent(sample, next)), next].slice(-samplesKept);
      const best = samples.reduce((a, b) => (b.roundTripMs <= a.roundTripMs ? b : a));
      offsetMs = (best.lowMs + best.highMs) / 2;
      errorMs = best.roundTripMs / 2 + countMs;
    },
    /** Unix milliseconds by JetStream's clock. Before the first sample, by this machine's wall clock. */
    now: () => Math.round(offsetMs === undefined ? wallNow() : localNow() + offsetMs),
    /** Milliseconds of the monotonic clock that measures the samples; only differences have a meaning. */
    localMs: localNow,
    /** Offset of JetStream's clock to {@link localMs}, in milliseconds. */
    offsetMs: () => offsetMs ?? wallNow() - localNow(),
    /** Greatest error of {@link now}, in milliseconds; 0 until the first sample. */
    errorMs: () => errorMs,
  };
}

/** True when one offset explains both samples. */
function isConsistent(before: Bounds, next: Bounds): boolean {
  const slackMs = countMs + Math.max(0, next.atMs - before.atMs) * driftShare;
  return before.lowMs - slackMs <= next.highMs && next.lowMs <= before.highMs + slackMs;
}
