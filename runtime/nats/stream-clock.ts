/**
 * One message whose storing was timed: when it was sent, what time JetStream gave it, when the answer came. Unix
 * milliseconds.
 */
export interface ClockSample {
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
  /** What is added to this machine's clock, in milliseconds. */
  offsetMs(): number;
}

const samplesKept = 16;

/** @param localNow this machine's clock, Unix milliseconds */
export function createStreamClock(localNow: () => number): StreamClock {
  const samples: { readonly roundTripMs: number; readonly offsetMs: number }[] = [];
  let offsetMs = 0;
  return {
    observe: ({ sentAtMs, storedAtMs, answeredAtMs }) => {
      const roundTripMs = answeredAtMs - sentAtMs;
      samples.push({ roundTripMs, offsetMs: storedAtMs - (sentAtMs + roundTripMs / 2) });
      samples.splice(0, samples.length - samplesKept);
      // The error of a sample is at most half its round trip.
      offsetMs = samples.reduce((best, sample) => (sample.roundTripMs <= best.roundTripMs ? sample : best)).offsetMs;
    },
    now: () => Math.round(localNow() + offsetMs),
    offsetMs: () => offsetMs,
  };
}
