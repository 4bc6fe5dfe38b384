import type { RegionState, Time } from "../api/types.ts";

/** An item of `GET /v1/metrics/catalog`. */
export interface CatalogEntry {
  readonly metric_id: string;
  readonly category: string;
  readonly unit: string;
  readonly description: string;
  readonly aggregations: readonly string[];
  readonly default_aggregation: string;
  readonly labels: readonly string[];
  readonly min_step: string;
  readonly max_group_by: number;
  readonly semantics?: Readonly<Record<string, { readonly value: string; readonly notes: readonly string[] }>>;
  readonly slo: readonly { readonly name: string; readonly objective: number }[];
  readonly state: "Active" | "Deprecated";
  readonly replaced_by?: string;
  readonly sunset_at?: Time;
}

/** `GET /v1/metrics/catalog`. */
export interface CatalogAnswer {
  readonly data: readonly CatalogEntry[];
  readonly meta: { readonly total: number; readonly schema_version: string };
}

/** A point as the API writes it: its end and its value. A gap is a missing point. */
export type Point = readonly [at: Time, value: number];

/** A series of `GET /v1/metrics/query`. */
export interface QueryItem {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly Point[];
}

/** `GET /v1/metrics/query`. */
export interface QueryAnswer {
  readonly data: readonly QueryItem[];
  readonly meta: {
    readonly from: Time;
    readonly to: Time;
    readonly step: string;
    readonly agg: string;
    readonly page: number;
    readonly limit: number;
    readonly total_series: number;
    readonly has_more: boolean;
    readonly infinite_points?: number;
    readonly partial: boolean;
    readonly regions: readonly RegionState[];
  };
}

/** Parameters of a cheaper query. */
export interface CheaperQuery {
  readonly step?: string;
  readonly downsample?: string;
  /** All parameters of it. */
  readonly query?: string;
}

/** `GET /v1/metrics/plan`: what a query would cost, without running it. */
export interface PlanAnswer {
  readonly allowed: boolean;
  readonly class: string | null;
  readonly cost: number | null;
  readonly step_seconds: number | null;
  readonly downsample: string | null;
  readonly points: number | null;
  readonly series_max: number | null;
  readonly regions: readonly { readonly region: string; readonly stores: number }[];
  readonly cache: { readonly expected: "hit" | "miss" | "partial" | null } | null;
  readonly budget: { readonly remaining: number; readonly limit: number; readonly reset_seconds: number } | null;
  readonly expression: string | null;
  readonly refusal: {
    readonly code: string;
    readonly status: number;
    readonly title: string;
    readonly detail: string;
    readonly retry_after_seconds?: number | null;
    readonly suggestion: CheaperQuery | null;
  } | null;
}

/** `GET /v1/metrics/labels/:label/values`. */
export interface LabelValues {
  readonly data: readonly string[];
  readonly meta: { readonly partial: boolean };
}
