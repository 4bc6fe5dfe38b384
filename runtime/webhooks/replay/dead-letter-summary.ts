import type { DeadLetter } from "../records/dead-letter-record.ts";

/** One dead letter, without its body. */
export interface DeadLetterSummary {
  readonly event_id: string;
  readonly tenant: string;
  readonly type: string;
  readonly partner: string;
  readonly state: "rejected" | "dead";
  readonly reason: string;
  /** Attempts so far, over all replays. */
  readonly attempts: number;
  /** ISO 8601 UTC. */
  readonly ended_at: string;
  readonly replay_id: string | null;
}

export interface DeadLetterPage {
  readonly items: readonly DeadLetterSummary[];
  /** Sequence after which the next page begins; undefined at the end. */
  readonly nextSeq?: number;
  /** Given by lists of the index: false when there are older dead letters than it holds. */
  readonly isComplete?: boolean;
}

/** The part of a dead letter that lists show. */
export function summaryOf(deadLetter: DeadLetter, partner: string): DeadLetterSummary {
  const { eventId, tenant, type, state, reason, attemptsBefore, attempt, endedAt, replayId = null } = deadLetter;
  const attempts = attemptsBefore + attempt;
  return { event_id: eventId, tenant, type, partner, state, reason, attempts, ended_at: endedAt, replay_id: replayId };
}
