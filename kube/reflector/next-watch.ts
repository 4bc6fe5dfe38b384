import { type BackoffOptions, backoffMs } from "../backoff.ts";
import { isKubeError, retryAfterMsOf } from "../client/kube-error.ts";

/** The end of a list or a watch. */
export type WatchEnd =
  | { readonly kind: "listed" }
  /** The list is due again. */
  | { readonly kind: "relist" }
  /** The server ended the watch, as it does every few minutes. `early`: at once and without an event. */
  | { readonly kind: "closed"; readonly early: boolean }
  | { readonly kind: "failed"; readonly during: "list" | "watch"; readonly error: unknown };

/** The next list or watch. */
export interface NextWatch {
  readonly kind: "list" | "watch";
  readonly waitMs: number;
  /** Consecutive failures, this one included. */
  readonly failures: number;
}

/** After this number of consecutive failed watches, the reflector lists again. */
const resumesMax = 5;
/** Longest wait after a list that the server rejects: a restored right or namespace is noticed within it. */
const rejectedMsMax = 5_000;

/** Returns true for the response of a server that does not let the caller list, or has nothing to list. */
export function isRejection(error: unknown): boolean {
  return isKubeError(error, "forbidden", "notFound");
}

/**
 * Decides the next list or watch after one that ended.
 *
 * - 410, the state is too old: list, the first time at once, then with back-off.
 * - A transient failure loses no event: watch from the last state, after at least the server's `Retry-After`.
 * - A rejected list (403, 404): list again within five seconds.
 * - Any other failure of a watch (a missing right, a missing kind): list, since events may be lost.
 *
 * @param failures consecutive failures so far; 0 after a watch with a new event
 */
export function nextWatch(end: WatchEnd, failures: number, backoff: BackoffOptions, random: () => number): NextWatch {
  const again = { failures: failures + 1, waitMs: backoffMs(failures + 1, backoff, random) };
  switch (end.kind) {
    case "listed":
      return { kind: "watch", waitMs: 0, failures };
    case "relist":
      return { kind: "list", waitMs: 0, failures };
    case "closed":
      return { kind: "watch", ...(end.early ? again : { waitMs: 0, failures: 0 }) };
    case "failed":
      return afterFailure(end, failures, again);
  }
}

function afterFailure(
  end: WatchEnd & { readonly kind: "failed" },
  failures: number,
  again: { failures: number; waitMs: number },
): NextWatch {
  const { error, during } = end;
  const atMostMs = during === "list" && isRejection(error) ? rejectedMsMax : Number.POSITIVE_INFINITY;
  const waitMs = Math.max(Math.min(again.waitMs, atMostMs), retryAfterMsOf(error));
  if (during === "list") return { ...again, kind: "list", waitMs };
  if (isKubeError(error, "gone")) return { ...again, kind: "list", waitMs: failures === 0 ? 0 : waitMs };
  const mayResume = isKubeError(error, "transient") && failures < resumesMax;
  return { ...again, kind: mayResume ? "watch" : "list", waitMs };
}
