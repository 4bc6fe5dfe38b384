/** ISO 8601 UTC. */
export type Time = string;

/** `GET /v1/me`. */
export interface Me {
  readonly client: string;
  readonly tenants: readonly string[];
  /** Null: every partner. */
  readonly partners: readonly string[] | null;
  readonly regions: readonly string[];
  readonly environments: readonly string[];
  readonly metrics: readonly string[];
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly expires_at: Time | null;
  readonly is_console_admin: boolean;
  readonly version: string;
}

/** `GET /console/config.json`. */
export interface ConsoleConfig {
  readonly issuer: string | null;
  readonly client_id: string | null;
  readonly scopes: string | null;
  /** True for the program on one machine, whose token comes in the fragment. */
  readonly is_local: boolean;
  readonly version: string;
}

/** A page of a list that goes on at a cursor. */
export interface ListPage<Item, Meta = object> {
  readonly data: readonly Item[];
  readonly meta: Meta & { readonly cursor: string | null };
}

/** An item of `GET /webhooks/partners`. */
export interface PartnerSummary {
  /** `namespace/name`. */
  readonly partner: string;
  readonly state: "active" | "paused" | "held" | "disabled" | "rejected";
  readonly reason: string | null;
  /** What a held partner lacks. Servers of earlier versions do not say it. */
  readonly missing?: string | null;
  /** Why the present definition is not applied. Servers of earlier versions do not say it. */
  readonly rejected?: { readonly reason: string; readonly message: string | null } | null;
  readonly subscriptions: readonly {
    readonly name: string;
    readonly types: readonly string[];
    readonly tenants: readonly string[];
  }[];
  readonly keys: readonly { readonly id: string; readonly not_after: Time | null }[];
}

/** The breaker and the backlog of a partner, as the pod that delivers to it knows them. */
export interface PartnerLive {
  readonly known: boolean;
  readonly hidden: boolean;
  readonly as_of: Time | null;
  readonly age_seconds: number | null;
  readonly breaker: "closed" | "open" | "half_open" | "rate_limited" | null;
  readonly breaker_until: Time | null;
  readonly backlog: number | null;
  readonly in_flight: number | null;
  readonly oldest_due_at: Time | null;
}

/** `GET /webhooks/partners/:namespace/:name`. */
export interface PartnerDetail extends PartnerSummary {
  readonly signing: { readonly scheme: string };
  readonly retry: {
    readonly schedule_seconds: readonly number[];
    readonly max_age_seconds: number;
    readonly jitter_percent: number;
  };
  readonly delivery: {
    readonly max_in_flight: number;
    readonly rate_per_second: number | null;
    readonly max_backlog: number | null;
  };
  readonly live: PartnerLive;
}

/** An item of `GET /webhooks/dead-letters/counts`. */
export interface DeadLetterCount {
  readonly partner: string;
  readonly reason: string;
  readonly count: number;
  readonly oldest_at: Time | null;
  readonly newest_at: Time | null;
}

/** A region of `meta.regions` of an answer of `/v1/metrics`. */
export interface RegionState {
  readonly region: string;
  readonly state: "ok" | "partial" | "failed" | "late" | "unsupported";
}

/** `GET /v1/metrics/health`. */
export interface MetricsHealth {
  readonly status: "ok" | "degraded" | "down";
  readonly window_seconds: number;
  readonly requests: number;
  readonly latency_p95_ms: number;
  readonly error_rate: number;
  readonly cache_hit_ratio: number;
  readonly partial_response_rate: number;
  readonly caches: readonly {
    readonly name: string;
    readonly state: "ok" | "failing" | "off";
    readonly hit_ratio: number;
  }[];
  readonly stores: readonly {
    readonly name: string;
    readonly region: string;
    readonly state: "unknown" | "ok" | "failing" | "unsupported";
  }[];
}
