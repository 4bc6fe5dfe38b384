import type { AttemptRecord } from "../records/attempt-records.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import { differentSelections, type PayloadSelection } from "../events/payload-selection.ts";
import { isHandled, parsePayload, type HandledNote } from "../records/event-record.ts";
import { compareAttempts, lastSettlement } from "../history/delivery-histories.ts";
import { settlementRow } from "../settlement/settlement-table.ts";

/** The stored records and live messages of one delivery. */
export interface DeliveryState {
  readonly attempts: readonly AttemptRecord[];
  /** Attempts of the same event to removed partners of the same name. @default none */
  readonly before?: readonly AttemptRecord[];
  readonly live: readonly DeliveryRecord[];
  readonly handled: readonly HandledNote[];
}

/** A delivery of a replay, with the settings of both. */
export interface ReplayCandidate {
  readonly replayId: string;
  readonly onlyFailed: boolean;
  readonly force: boolean;
  /** When the event was accepted, Unix milliseconds. */
  readonly acceptedAtMs: number;
  /** Time for which the partner remembers event ids, in milliseconds. */
  readonly idempotencyMs: number;
  readonly nowMs: number;
  /** Generation of the newest dead letter. @default none */
  readonly deadLetterGeneration?: number;
  /** `X-Attempt` of the newest dead letter. @default none */
  readonly deadLetterNumber?: number;
  /** `routedBy` of the dead letter. @default none */
  readonly deadLetterRoutedBy?: string | undefined;
  /** The payload that the present configuration selects. @default the whole event */
  readonly payload?: PayloadSelection;
}

/**
 * The action of a replay for a delivery.
 *
 * - `unmatched`: none, because the filter excludes the delivery.
 * - `done`: none, because this replay has published it before.
 * - `in_progress`, `too_old`: none, the delivery is skipped.
 * - `publish`: publish a new generation; the numbers of its attempts continue.
 */
export type ReplayDecision =
  | { readonly kind: "unmatched" | "done" | "in_progress" | "too_old" }
  | {
      readonly kind: "publish";
      readonly generation: number;
      readonly attemptsBefore: number;
      /** Empty for the whole event. */
      readonly payload: PayloadSelection;
    };

/** Decides about one delivery. A replay is a new generation; deliveries that are still live are skipped. */
export function decideReplay(candidate: ReplayCandidate, state: DeliveryState): ReplayDecision {
  const { attempts, live, before = [] } = state;
  const { replayId } = candidate;
  if ([...attempts, ...live].some((one) => one.replayId === replayId)) return { kind: "done" };
  if (candidate.onlyFailed && !hasFailed(state)) return { kind: "unmatched" };
  if (live.length > 0) return { kind: "in_progress" };
  if (!candidate.force && candidate.nowMs - candidate.acceptedAtMs > candidate.idempotencyMs)
    return { kind: "too_old" };
  const { deadLetterGeneration = 0, deadLetterNumber = 0 } = candidate;
  const made = [...before, ...attempts];
  return {
    kind: "publish",
    generation: Math.max(deadLetterGeneration, ...made.map(({ generation }) => generation)) + 1,
    attemptsBefore: Math.max(deadLetterNumber, ...made.map(({ number }) => number)),
    payload: payloadOf(candidate, made),
  };
}

/** No more than earlier deliveries sent, and no more than the present configuration selects. */
function payloadOf(
  { deadLetterRoutedBy, payload = [] }: ReplayCandidate,
  made: readonly AttemptRecord[],
): PayloadSelection {
  const recorded = [deadLetterRoutedBy, ...made.map(({ routedBy }) => routedBy)];
  return differentSelections([...recorded.flatMap((text) => parsePayload(text)), ...payload]);
}

/** True when the delivery failed and was not handled by hand since. */
function hasFailed({ attempts, live, handled }: DeliveryState): boolean {
  const ordered = attempts.toSorted(compareAttempts);
  const last = ordered.at(-1);
  const settlement = lastSettlement(ordered);
  if (last === undefined || settlement === undefined || live.length > 0) return false;
  return settlementRow(settlement).deadLetter !== undefined && !isHandled(last, handled);
}
