import type { Settlement } from "./settle.ts";

/** State of a dead letter: the partner rejected the event, or its retries ended. */
export type DeadLetterState = "rejected" | "dead";

/** Attempts of one generation that fail before a delivery counts as failing. */
const failingAttempts = 3;

/** An event that partners may subscribe to, and the attempts of a generation at which a settlement causes it. */
interface EventRule {
  readonly kind: "failing" | "recovered" | "exhausted" | "rejected";
  readonly attempts: { readonly min: number; readonly max: number };
}

/** What follows from one kind of settlement. */
interface SettlementRow {
  /** State of the delivery in history and in metrics. */
  readonly state: "in_delivery" | "delivered" | DeadLetterState;
  /** Whether the delivery ends; else another attempt follows. */
  readonly ends: boolean;
  /** State of the dead letter that is stored. */
  readonly deadLetter: DeadLetterState | undefined;
  /** Whether the partner gets nothing more until its resource is edited. */
  readonly disablesPartner: boolean;
  /** Health of the partner, unless the outcome shows nothing about it. */
  readonly health: "healthy" | "failing";
  /** Mark of a delivery that belongs to a replay. */
  readonly replayMark: "delivered" | "failed" | undefined;
  /** Operational event about the delivery. */
  readonly event: EventRule;
}

const anyAttempt = { min: 1, max: Infinity } as const;

/** One row per kind of settlement. A message of any kind is acknowledged once its row is applied. */
export const settlementTable = {
  delivered: {
    state: "delivered",
    ends: true,
    deadLetter: undefined,
    disablesPartner: false,
    health: "healthy",
    replayMark: "delivered",
    event: { kind: "recovered", attempts: { min: failingAttempts + 1, max: Infinity } },
  },
  retry: {
    state: "in_delivery",
    ends: false,
    deadLetter: undefined,
    disablesPartner: false,
    health: "failing",
    replayMark: undefined,
    event: { kind: "failing", attempts: { min: failingAttempts, max: failingAttempts } },
  },
  rejected: {
    state: "rejected",
    ends: true,
    deadLetter: "rejected",
    disablesPartner: false,
    health: "healthy",
    replayMark: "failed",
    event: { kind: "rejected", attempts: anyAttempt },
  },
  dead: {
    state: "dead",
    ends: true,
    deadLetter: "dead",
    disablesPartner: false,
    health: "failing",
    replayMark: "failed",
    event: { kind: "exhausted", attempts: anyAttempt },
  },
  disabled: {
    state: "rejected",
    ends: true,
    deadLetter: "rejected",
    disablesPartner: true,
    health: "healthy",
    replayMark: "failed",
    event: { kind: "rejected", attempts: anyAttempt },
  },
} as const satisfies Readonly<Record<Settlement["kind"], SettlementRow>>;

/** The row of a settlement. */
export function settlementRow({ kind }: Settlement): SettlementRow {
  return settlementTable[kind];
}
