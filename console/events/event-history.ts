import type { Time } from "../api/types.ts";
import type { DeliverySummary } from "../webhooks/webhook-types.ts";

/** `GET /webhooks/events/:id`. */
export interface EventHistory {
  /** The event; numbers as JavaScript reads them. Its bytes are in the text of the answer. */
  readonly event: Readonly<Record<string, unknown>>;
  /** Servers of earlier versions do not say it. */
  readonly accepted_at?: Time;
  readonly routed_at: Time | null;
  readonly deliveries: readonly DeliveryHistory[];
}

/** A delivery of an event with its attempts. */
export interface DeliveryHistory {
  /** `namespace/name`. */
  readonly partner: string;
  readonly state: DeliverySummary["state"];
  /** 0 for the event itself; each replay is one more. */
  readonly generation?: number;
  readonly reason: string | null;
  readonly next_attempt_at: Time | null;
  readonly handled: "manual" | null;
  /** Why it waits. Servers of earlier versions do not say it. */
  readonly waiting?: {
    readonly kind: string;
    readonly reason: string | null;
    readonly since: Time | null;
    readonly since_at_latest?: boolean;
    readonly until?: Time | null;
  } | null;
  readonly attempts: readonly Attempt[];
}

/** One request to a partner. */
export interface Attempt {
  readonly attempt: number;
  readonly at: Time;
  /** Null without an answer. */
  readonly status: number | null;
  readonly duration_ms: number;
  readonly phases_ms: PhasesMs;
  readonly error: { readonly reason: string; readonly detail: string } | null;
  readonly response: {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly body_truncated: boolean;
  } | null;
  /** Absent from an earlier version of the server. */
  readonly warnings?: readonly string[];
  readonly replay_id: string | null;
  readonly settlement?: { readonly kind: string; readonly at?: Time };
  readonly signed?: Signed | null;
  readonly pod?: string;
}

/** Milliseconds of the phases; null for a phase that did not happen, as on a reused connection. */
export interface PhasesMs {
  readonly dns: number | null;
  readonly connect: number | null;
  readonly tls: number | null;
  readonly first_byte: number | null;
}

/** What the recipient verifies; never a secret. */
export interface Signed {
  readonly scheme: string;
  readonly key_ids: readonly string[];
  readonly canonical: string | null;
  readonly canonical_reason: "url_hidden" | "too_long" | "older_attempt" | "unknown_scheme" | null;
  readonly headers: Readonly<Record<string, string>>;
}
