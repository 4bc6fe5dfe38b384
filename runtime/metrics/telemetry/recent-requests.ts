/**
 * The outcome of a request: `ok`, `partial` (206), `refused` (an error of the caller), `failed` (an error of this
 * runtime or its stores), `left` (the caller closed the connection).
 */
export type RequestOutcome = "ok" | "partial" | "refused" | "failed" | "left";

/** The figures of the recent requests in the health response. */
export interface RequestFigures {
  readonly requests: number;
  /** Nearest-rank 95th percentile over the answered requests; 0 without any. */
  readonly latencyP95Ms: number;
  /** Share of failed requests; 0 without any. */
  readonly errorRate: number;
  /** Share of partial responses among the answered requests; 0 without any. */
  readonly partialRate: number;
}

/** The recent requests, in memory. */
export interface RequestLog {
  add(outcome: RequestOutcome, durationMs: number): void;
  figures(): RequestFigures;
}

export const requestLogSeconds = 300;
/** Most requests in the log. Under a higher load the figures cover a shorter time. */
const requestsMax = 8_192;

interface Entry {
  readonly atMs: number;
  readonly outcome: RequestOutcome;
  readonly durationMs: number;
}

/** Creates an empty log. New entries overwrite the oldest ones. @param now a monotonic clock, milliseconds */
export function createRequestLog(now: () => number): RequestLog {
  const ring: Entry[] = [];
  let next = 0;
  return {
    add(outcome, durationMs) {
      ring[next] = { atMs: now(), outcome, durationMs };
      next = (next + 1) % requestsMax;
    },
    figures() {
      const sinceMs = now() - requestLogSeconds * 1_000;
      return figuresOf(ring.filter(({ atMs }) => atMs >= sinceMs));
    },
  };
}

function figuresOf(entries: readonly Entry[]): RequestFigures {
  const answered = entries.filter(({ outcome }) => outcome === "ok" || outcome === "partial");
  const failed = entries.filter(({ outcome }) => outcome === "failed");
  const durations = answered.map(({ durationMs }) => durationMs).sort((a, b) => a - b);
  return {
    requests: entries.length,
    latencyP95Ms: durations[Math.ceil(durations.length * 0.95) - 1] ?? 0,
    errorRate: share(failed.length, entries.length),
    partialRate: share(answered.filter(({ outcome }) => outcome === "partial").length, answered.length),
  };
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
