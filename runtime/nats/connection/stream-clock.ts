/**
 * One message whose storing was timed: when it was sent, what time JetStream gave it, when the answer came. Unix
 * milliseconds.
 */
interface ClockSample {
  readonly sentAtMs: number;
  readonly storedAtMs: number;
  readonly answeredAtMs: number;
}

/**
 * JetStream's clock as this process sees it. Schedules and ages are judged by it, so that no pod's own clock matters.
 */
export interface StreamClock {
  /** Takes a sample; the quickest of the last few decides. */
  observe(sample: ClockSample): void;
  /** Unix milliseconds by JetStream's clock; by this machine's until the first sample. */
  now(): number;
  /** Offset to this machine's clock, in milliseconds. */
  offsetMs(): number;
  /** Greatest error of {@link now}, in milliseconds; 0 until the first sample. */
  errorMs(): number;
}

const samplesKept = 16;

/** @param localNow this machine's clock, Unix milliseconds */
export function createStreamClock(localNow: () => number): StreamClock {
  const samples: { readonly roundTripMs: number; readonly offsetMs: number }[] = [];
  let offsetMs = 0;
  let errorMs = 0;
  return {
    observe: ({ sentAtMs, storedAtMs, answeredAtMs }) => {
      const roundTripMs = answeredAtMs - sentAtMs;
      samples.push({ roundTripMs, offsetMs: storedAtMs - (sentAtMs + roundTripMs / 2) });
      samples.splice(0, samples.length - samplesKept);
      const best = samples.reduce((a, b) => (b.roundTripMs <= a.roundTripMs ? b : a));
      ({ offsetMs } = best);
      // Half the round trip, and a millisecond since both clocks count whole ones.
      errorMs = best.roundTripMs / 2 + 1;
    },
    now: () => Math.round(localNow() + offsetMs),
    offsetMs: () => offsetMs,
    errorMs: () => errorMs,
  };
}
