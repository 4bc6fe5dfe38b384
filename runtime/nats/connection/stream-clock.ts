/** Times of one stored message: sent, stored by JetStream, and answered. Unix milliseconds. */
interface ClockSample {
  readonly sentAtMs: number;
  readonly storedAtMs: number;
  readonly answeredAtMs: number;
}

/** Estimate of JetStream's clock. Schedules and ages use it, so the clocks of pods do not matter. */
export interface StreamClock {
  /** Takes a sample. Of the last 16, the one with the shortest round trip counts. */
  observe(sample: ClockSample): void;
  /** Unix milliseconds by JetStream's clock. Before the first sample, by this machine's clock. */
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
      // Half the round trip, and one millisecond because both clocks count whole milliseconds.
      errorMs = best.roundTripMs / 2 + 1;
    },
    now: () => Math.round(localNow() + offsetMs),
    offsetMs: () => offsetMs,
    errorMs: () => errorMs,
  };
}
