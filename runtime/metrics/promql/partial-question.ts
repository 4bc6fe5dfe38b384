import { hash } from "node:crypto";
import type { Aggregation, LabelName, PeerConfig } from "../../../crds/config.ts";

/** Form of questions and answers; another one is refused, never guessed at. */
export const questionVersion = 1;

/** Parts that are no statistic. */
export const bucketsPart = "buckets";
export const newestPart = "newest";
export const exemplarsPart = "exemplars";

/**
 * What one runtime wants to know of a metric in the region of another: one partial of the closed query, with the rights
 * of who asks as what they come to. No query language, and no name of a store or of a series.
 */
export interface PartialQuestion {
  /** Of the asking catalog. */
  readonly schema_version: string;
  readonly region: string;
  /** All regions that the partial will be merged over, sorted. */
  readonly regions: readonly string[];
  readonly metric: string;
  readonly agg: Aggregation;
  /** The objective whose events are counted. @default none */
  readonly slo?: string;
  /** Name of a statistic of the aggregation, `buckets`, `newest` or `exemplars`. */
  readonly part: string;
  readonly tenant: string;
  /** Sorted. @default every environment */
  readonly environments?: readonly string[];
  readonly filters: Readonly<Partial<Record<LabelName, string>>>;
  /** Sorted. */
  readonly group_by: readonly LabelName[];
  /** For statistics and buckets. */
  readonly points?: AskedPoints;
  /** Only the buckets' quantile, which tells how native ones are laid out. @default the buckets */
  readonly quantile?: number;
}

/** What the points of a partial are. */
export interface AskedPoints extends Pick<PeerConfig, "increases"> {
  /** Width of one, which is also the distance of two. */
  readonly width_ms: number;
  /** Seconds between samples that the asking catalog knows of. */
  readonly interval_seconds: number;
}

/** The times of a question. */
export type AskedTimes =
  | { readonly start_ms: number; readonly count: number }
  | { readonly time_ms: number }
  | { readonly from_ms: number; readonly to_ms: number };

/** The body of a question. @param question as text, by which answers are kept */
export function questionBody(question: string, over: AskedTimes): string {
  return `{"version":${questionVersion},"ask":${question},"over":${JSON.stringify(over)}}`;
}

/** The body that only wants to know whether a peer answers for a region. */
export function probeBody(probe: { readonly region: string }): string {
  return JSON.stringify({ version: questionVersion, probe });
}

/** What binds an answer to its question. */
export function questionKey(body: string | Uint8Array): string {
  return hash("sha256", body, "base64url");
}
