import type { Time } from "../api/types.ts";

interface Change {
  readonly before: number;
  readonly after: number;
}

/** The differences of resources. */
export interface PreviewedResources {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly {
    readonly object: string;
    readonly fields: readonly { readonly field: string; readonly before?: string; readonly after?: string }[];
  }[];
  readonly unchanged: number;
  readonly refused: readonly { readonly object: string; readonly reason: string; readonly message: string }[];
  readonly unnamed: readonly string[];
}

/** Figures of a partner's deliveries. */
export interface PreviewedFigures {
  readonly delivered: number;
  readonly dead_letters: number;
  readonly pending: number;
  readonly backlog: number;
  readonly in_flight: number;
  readonly p95_ms: number | null;
}

/** What follows the first difference, as an estimate. */
export interface PreviewedSimulation {
  readonly complete: boolean;
  readonly left_out: number;
  readonly not_simulated: readonly string[];
  readonly partners: readonly {
    readonly partner: string;
    readonly deliveries: number;
    readonly estimated: number;
    readonly farthest_ms: number;
    readonly would_live: number;
    readonly would_die: number;
    readonly recorded: PreviewedFigures;
    readonly simulated: PreviewedFigures;
  }[];
}

/** The effect on recorded events. */
export interface PreviewedEvents {
  readonly from: Time;
  readonly to: Time;
  readonly oldest_event: Time | null;
  readonly complete: boolean;
  readonly read: number;
  readonly deliveries: Change;
  readonly unrouted: Change;
  readonly partners: readonly {
    readonly partner: string;
    readonly before: number;
    readonly after: number;
    readonly gained: number;
    readonly lost: number;
    readonly gained_ids: readonly string[];
    readonly lost_ids: readonly string[];
  }[];
  readonly attempts: {
    readonly oldest_attempt: Time | null;
    readonly events: number;
    readonly skipped: number;
    readonly partners: readonly {
      readonly partner: string;
      readonly exact: number;
      readonly moved: number;
      readonly gone: number;
      readonly would_retry: number;
      readonly would_end: number;
    }[];
  };
  readonly simulated: PreviewedSimulation | null;
}

interface JudgedQuery {
  readonly class: string | null;
  readonly cost: number | null;
  readonly code: string | null;
}

/** The effect on recorded queries. */
export interface PreviewedQueries {
  readonly since: Time;
  readonly pods: { readonly live: number; readonly answered: number };
  readonly seen: number | null;
  readonly judged: number;
  readonly refused: number;
  readonly allowed: number;
  readonly dearer: number;
  readonly cheaper: number;
  readonly shapes: readonly {
    readonly effect: string;
    readonly count: number;
    readonly client: string;
    readonly metrics: readonly string[];
    readonly aggregation: string | null;
    readonly group_by: readonly string[];
    readonly filters: readonly string[];
    readonly window_seconds: number | null;
    readonly step: string | null;
    readonly before: JudgedQuery;
    readonly after: JudgedQuery;
  }[];
}

/** `GET /v1/preview/:id`. */
export interface Preview {
  readonly preview_id: string;
  readonly status: "queued" | "running" | "completed" | "failed";
  readonly created_at: Time;
  readonly base: string;
  readonly resources: PreviewedResources;
  readonly events: PreviewedEvents | null;
  readonly queries: PreviewedQueries | null;
  readonly detail: string | null;
}
