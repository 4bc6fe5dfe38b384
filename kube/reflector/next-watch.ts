import { type BackoffOptions, backoffMs } from "../backoff.ts";
import { isKubeError } from "../client/kube-error.ts";

/** How a list or a watch of an informer ended. */
export type WatchEnd =
  | { readonly kind: "listed" }
  /** The list is due again. */
  | { readonly kind: "relist" }
  /** The server ended the watch, as it does every few minutes; `early`: at once, and it had brought nothing. */
  | { readonly kind: "closed"; readonly early: boolean }
  | { readonly kind: "failed"; readonly during: "list" | "watch"; readonly error: unknown };

/** What an informer does next. */
export interface NextWatch {
  readonly kind: "list" | "watch";
  readonly waitMs: number;
  /** Failures in a row, this one included. */
  readonly failures: number;
}

/** After so many failed watches in a row the state they resume from is doubted. */
const resumesMax = 5;

/**
 * The next turn after one that ended.
 *
 * - 410 says that the state is too old to go on from: list. Once at once, then with back-off.
 * - A transient failure loses nothing: go on from the last state, after at least what the server asked for.
 * - Whatever else a watch meets (a missing right, a missing kind) may have changed what there is: list.
 *
 * @param failures failures in a row so far; 0 after a watch that brought something new
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
  const waitMs = Math.max(again.waitMs, isKubeError(error) ? (error.retryAfterMs ?? 0) : 0);
  if (during === "list") return { ...again, kind: "list", waitMs };
  if (isKubeError(error, "gone")) return { ...again, kind: "list", waitMs: failures === 0 ? 0 : waitMs };
  const mayResume = isKubeError(error, "transient") && failures < resumesMax;
  return { ...again, kind: mayResume ? "watch" : "list", waitMs };
}
