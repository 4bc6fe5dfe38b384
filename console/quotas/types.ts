interface Bucket {
  readonly burst: number;
  readonly remaining: number;
}

interface Buckets {
  readonly requests: (Bucket & { readonly limit_per_second: number }) | null;
  readonly cost: (Bucket & { readonly limit_per_minute: number }) | null;
}

/** An item of `GET /v1/metrics/quota`. */
export interface Quota extends Buckets {
  readonly class: string;
  readonly client: string;
  readonly concurrent: { readonly limit: number; readonly used: number };
  readonly max_series: number;
  readonly max_window_seconds: number;
  readonly min_step_seconds: number;
  /** Metrics with limits of their own. */
  readonly metrics?: readonly (Buckets & { readonly metric: string })[];
  readonly known_by?: "home_pod" | "this_pod";
}

/** `GET /v1/metrics/quota`. */
export interface QuotaAnswer {
  readonly data: readonly Quota[];
}
