// A simulation of recorded deliveries under another policy. It does no I/O.
import type { Outcome } from "../../webhooks/settlement/outcome.ts";
import type { Settlement } from "../../webhooks/settlement/settle.ts";

/** An attempt that was made. */
export interface MadeAttempt {
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: Outcome;
}

/** A recorded delivery to one partner. */
export interface RecordedDelivery {
  /** Unix milliseconds. That of a replayed delivery is not known: the start of its first attempt. */
  readonly acceptedAtMs: number;
  /** In order, from the first one; at least one. */
  readonly attempts: readonly MadeAttempt[];
  /** Settlement of the last attempt; `retry` for a delivery that is not over. */
  readonly end: Settlement["kind"];
  /** Attempts that stay as they are. */
  readonly exact: number;
  /** False when the delivery ends as it did. */
  readonly isMoved: boolean;
}

/** The course of one delivery, as recorded or as simulated. */
export interface Course {
  readonly acceptedAtMs: number;
  readonly attempts: readonly { readonly startMs: number; readonly endMs: number }[];
  /** `retry`: not over at the end of the time that is simulated. */
  readonly end: Settlement["kind"];
}
