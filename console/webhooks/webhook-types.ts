// What several webhook pages share: types of answers, links, and the way of a request from its dry run to its start.
import type { DeadLetterCount, ListPage, Time } from "../api/types.ts";

/** States of a delivery, as the API writes them. */
export const deliveryStates = ["in_delivery", "held", "delivered", "rejected", "dead", "not_routed"] as const;

/** A delivery in a list of events. */
export interface DeliverySummary {
  /** `namespace/name`. */
  readonly partner: string;
  readonly state: (typeof deliveryStates)[number];
  readonly reason: string | null;
  /** HTTP status of the last attempt. Servers of earlier versions do not say it. */
  readonly status?: number | null;
  readonly attempts?: number;
}

/** An item of `GET /webhooks/events`. */
export interface EventSummary {
  readonly event_id: string;
  readonly type: string;
  readonly tenant: string;
  readonly accepted_at: Time;
  readonly routed_at: Time | null;
  readonly deliveries: readonly DeliverySummary[];
}

/** `GET /webhooks/events?order=desc`. */
export type EventPage = ListPage<EventSummary, { readonly newest?: string; readonly complete?: boolean }>;

/** An item of `GET /webhooks/dead-letters`. */
export interface DeadLetter {
  readonly event_id: string;
  readonly tenant: string;
  readonly type: string;
  readonly partner: string;
  readonly state: "rejected" | "dead";
  readonly reason: string;
  readonly attempts: number;
  readonly ended_at: Time;
  readonly replay_id: string | null;
}

/** `GET /webhooks/dead-letters/counts`. `complete` is false when older ones were not counted. */
export interface DeadLetterCounts {
  readonly data: readonly DeadLetterCount[];
  readonly meta: { readonly complete: boolean };
}

/** The answer to a replay or a redrive that is only tried. `complete`: false when older deliveries were not counted. */
export interface DryRun {
  readonly dry_run: true;
  readonly matched: number;
  readonly in_progress: number;
  readonly too_old: number;
  readonly missing: number;
  readonly complete: boolean;
}

/** The progress of a replay. */
export interface Replay {
  readonly replay_id: string;
  readonly status: "queued" | "running" | "completed" | "cancelled" | "failed";
  readonly created_at: Time;
  readonly matched: number;
  readonly in_progress: number;
  readonly too_old: number;
  readonly missing: number;
  readonly published: number;
  readonly delivered: number;
  readonly failed: number;
  readonly detail: string | null;
}

/** An item of `GET /webhooks/replay`: a replay with who asked for what. */
export interface ReplaySummary extends Replay {
  readonly kind: "replay" | "redrive";
  readonly requested_by: string | null;
  readonly filter: {
    readonly partners: readonly string[];
    readonly types: readonly string[];
    readonly only_failed: boolean;
  };
  readonly window: { readonly from: Time | null; readonly to: Time } | null;
  readonly event_ids: number | null;
}
