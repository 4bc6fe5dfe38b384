/** The effect of an edit on recorded queries. Its members are a stored form, and that of `POST /v1/preview`. */
export interface QueryEffect {
  /** ISO 8601 UTC. Every pod that answered records since then or longer, at most for a day. */
  readonly since: string;
  /** Pods of the installation, and those whose recorded queries are counted. */
  readonly pods: { readonly live: number; readonly answered: number };
  /** Queries since then; null for a caller of some tenants or metrics. Byte-equal repeats count once. */
  readonly seen: number | null;
  /** Queries that were judged, within the rights of the caller. */
  readonly judged: number;
  /** Of the judged ones: allowed now and refused after the edit, and so on. */
  readonly refused: number;
  readonly allowed: number;
  readonly dearer: number;
  readonly cheaper: number;
  /** Shapes of queries with an effect, the most frequent first, at most 50. */
  readonly shapes: readonly ShapeEffect[];
}

/** Words for the effect on one query. */
export const queryEffects = ["refused", "allowed", "dearer", "cheaper"] as const;

/** The effect on queries of one shape. Values of filters are not part of it. */
export interface ShapeEffect {
  readonly effect: (typeof queryEffects)[number];
  /** Queries of this shape. */
  readonly count: number;
  readonly client: string;
  readonly metrics: readonly string[];
  /** Null: the default of each metric. */
  readonly aggregation: string | null;
  readonly group_by: readonly string[];
  /** Names of filters. */
  readonly filters: readonly string[];
  /** Null: the default window, or one point. */
  readonly window_seconds: number | null;
  /** Null: the step follows from the window. */
  readonly step: string | null;
  readonly before: JudgedQuery;
  readonly after: JudgedQuery;
}

/** One query under one configuration. */
export interface JudgedQuery {
  /** Null when the query is refused. */
  readonly class: string | null;
  /** Expected cost units; null when the query is refused before it has a plan. */
  readonly cost: number | null;
  /** Error code of the refusal; null when the query is allowed. */
  readonly code: string | null;
}

/** The rights of the caller of a preview. `*`: all. */
export interface QueryReader {
  readonly tenants: readonly string[];
  readonly metrics: readonly string[];
}
