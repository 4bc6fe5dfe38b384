/**
 * How a request ended: `ok`, `partial` (206), `refused` (the caller's fault), `failed` (ours or the stores'), `left`
 * (the caller did not wait).
 */
export type RequestOutcome = "ok" | "partial" | "refused" | "failed" | "left";

/** What the health view says of the requests of the last minutes. */
export interface RequestFigures {
  readonly requests: number;
  /** Nearest-rank 95th percentile over the answered requests; 0 without any. */
  readonly latencyP95Ms: number;
  /** Share of failed requests; 0 without any. */
  readonly errorRate: number;
  /** Share of partial answers among the answers; 0 without any. */
  readonly partialRate: number;
}

/** The recent requests, in memory. */
export interface RequestLog {
  add(outcome: RequestOutcome, durationMs: number): void;
  figures(): RequestFigures;
}

export const requestLogSeconds = 300;
/** Requests that are remembered; under more load than this the window is shorter, never wrong. */
const requestsMax = 8_192;

interface Entry {
  readonly atMs: number;
  readonly outcome: RequestOutcome;
  readonly durationMs: number;
}

/** An empty log; the oldest entries are overwritten. */
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
