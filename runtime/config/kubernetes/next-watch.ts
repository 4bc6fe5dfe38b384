import type { KubernetesFault } from "./api-fault.ts";

/** How waits grow from failure to failure. */
export interface BackoffTimes {
  /** Wait after the first failure, in milliseconds; doubled from failure to failure. */
  readonly baseMs: number;
  /** No wait is longer, in milliseconds. */
  readonly maxMs: number;
  /** Share of a wait that is left to chance, 0 to 1: it spreads what failed together. */
  readonly jitter: number;
}

/** How a list or a watch ended. */
export type WatchEnd =
  | { readonly kind: "listed" }
  /** The watch lived as long as was asked for. */
  | { readonly kind: "expired" }
  /**
   * The server, or something in between, ended the watch before its time; `early`: at once, and it had brought nothing.
   */
  | { readonly kind: "closed"; readonly early: boolean }
  | { readonly kind: "failed"; readonly during: "list" | "watch"; readonly fault: KubernetesFault };

/** What comes next. */
interface NextWatch {
  readonly kind: "list" | "watch";
  readonly waitMs: number;
  /** Failures in a row, this one included. */
  readonly failures: number;
}

/** After so many failed watches in a row the state they go on from is doubted: a restored server may not know it. */
const resumesMax = 5;
/** Exponents beyond this exceed every bound anyway. */
const exponentMax = 30;

/**
 * The next turn after one that ended. A failure that says nothing of the state loses nothing: the watch goes on from
 * where it was. A state that is too old, or a refusal, asks for a new list; so does the end of a watch's full time,
 * which heals whatever a watch may have missed.
 * @param failures in a row so far; 0 after a watch that brought something
 */
export function nextWatch(end: WatchEnd, failures: number, backoff: BackoffTimes, random: () => number): NextWatch {
  const backoffMs = waitAfter(failures + 1, backoff, random);
  switch (end.kind) {
    case "listed":
      return { kind: "watch", waitMs: 0, failures };
    case "expired":
      return { kind: "list", waitMs: 0, failures: 0 };
    case "closed":
      return end.early
        ? { kind: "watch", waitMs: backoffMs, failures: failures + 1 }
        : { kind: "watch", waitMs: 0, failures: 0 };
    case "failed":
      return afterFailure(end, failures, backoffMs);
  }
}

function afterFailure(end: WatchEnd & { readonly kind: "failed" }, failures: number, backoffMs: number): NextWatch {
  const { kind, retryAfterMs } = end.fault;
  const waitMs = Math.max(backoffMs, retryAfterMs);
  const mayResume = end.during === "watch" && (kind === "unreachable" || kind === "busy") && failures < resumesMax;
  const isFirstGone = kind === "gone" && end.during === "watch" && failures === 0;
  return { kind: mayResume ? "watch" : "list", waitMs: isFirstGone ? 0 : waitMs, failures: failures + 1 };
}

function waitAfter(failures: number, { baseMs, maxMs, jitter }: BackoffTimes, random: () => number): number {
  const fullMs = Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, exponentMax));
  return fullMs * (1 - jitter * random());
}
