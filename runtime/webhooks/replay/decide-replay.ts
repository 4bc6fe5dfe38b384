import type { AttemptRecord } from "../records/attempt-records.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import { isHandled, type HandledNote } from "../records/handled-record.ts";
import { compareAttempts, lastSettlement } from "../history/history.ts";
import { settlementRow } from "../settlement/settlement-table.ts";

/** What is stored about one delivery. */
export interface DeliveryState {
  readonly attempts: readonly AttemptRecord[];
  /** Attempts of the same event to partners of the same name that were removed. @default none */
  readonly before?: readonly AttemptRecord[];
  readonly live: readonly DeliveryRecord[];
  readonly handled: readonly HandledNote[];
}

/** One delivery that a replay may concern. */
export interface ReplayCandidate {
  readonly replayId: string;
  readonly onlyFailed: boolean;
  readonly force: boolean;
  /** When the event was accepted, Unix milliseconds. */
  readonly acceptedAtMs: number;
  /** How long the partner remembers event ids, in milliseconds. */
  readonly idempotencyMs: number;
  readonly nowMs: number;
  /** Last generation that a dead letter is known of. @default none */
  readonly deadLetterGeneration?: number;
  /** Last `X-Attempt` that a dead letter is known of. @default none */
  readonly deadLetterNumber?: number;
}

/**
 * What a replay does with a delivery.
 *
 * - `unmatched`: nothing, it is not meant.
 * - `done`: nothing more, this replay published it before.
 * - `in_progress`, `too_old`: nothing, it is skipped.
 * - `publish`: as a new generation, whose attempts go on counting.
 */
export type ReplayDecision =
  | { readonly kind: "unmatched" | "done" | "in_progress" | "too_old" }
  | { readonly kind: "publish"; readonly generation: number; readonly attemptsBefore: number };

/** Decides about one delivery. Source: wire, "A replay is a new generation; items still live are skipped". */
export function decideReplay(candidate: ReplayCandidate, state: DeliveryState): ReplayDecision {
  const { attempts, live, before = [] } = state;
  const { replayId } = candidate;
  if ([...attempts, ...live].some((one) => one.replayId === replayId)) {
    return { kind: "done" };
  }
  if (candidate.onlyFailed && !hasFailed(state)) {
    return { kind: "unmatched" };
  }
  if (live.length > 0) {
    return { kind: "in_progress" };
  }
  if (!candidate.force && candidate.nowMs - candidate.acceptedAtMs > candidate.idempotencyMs) {
    return { kind: "too_old" };
  }
  const { deadLetterGeneration = 0, deadLetterNumber = 0 } = candidate;
  const made = [...before, ...attempts];
  return {
    kind: "publish",
    generation: Math.max(deadLetterGeneration, ...made.map(({ generation }) => generation)) + 1,
    attemptsBefore: Math.max(deadLetterNumber, ...made.map(({ number }) => number)),
  };
}

/** Whether the delivery ended without success and nobody has handled it since. */
function hasFailed({ attempts, live, handled }: DeliveryState): boolean {
  const ordered = attempts.toSorted(compareAttempts);
  const last = ordered.at(-1);
  const settlement = lastSettlement(ordered);
  if (last === undefined || settlement === undefined || live.length > 0) {
    return false;
  }
  return settlementRow(settlement).deadLetter !== undefined && !isHandled(last, handled);
}
