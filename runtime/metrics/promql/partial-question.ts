import { hash } from "node:crypto";
import type { Aggregation, LabelName, PeerConfig } from "../../../crds/config.ts";

/** Version of the format of questions and their responses; any other version is refused. */
export const questionVersion = 1;

/** Parts of a question besides the statistics. */
export const bucketsPart = "buckets";
export const newestPart = "newest";
export const exemplarsPart = "exemplars";

/**
 * The question of one runtime to another about a metric in its region: one partial of the canonical query. Rights are
 * in it as granted names. It holds no query language and no name of a store or of a series.
 */
export interface PartialQuestion {
  /** Schema version of the asking catalog. */
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
  /** The value of each label, or a sorted list of two and more. An older runtime refuses lists. */
  readonly filters: Readonly<Partial<Record<LabelName, string | readonly string[]>>>;
  /** Sorted. */
  readonly group_by: readonly LabelName[];
  /** For statistics and buckets. */
  readonly points?: QuestionPoints;
  /** Reads only this quantile of the buckets, which shows the layout of native histograms. @default the buckets */
  readonly quantile?: number;
}

/** The points of a partial. */
export interface QuestionPoints extends Pick<PeerConfig, "increases"> {
  /** Width of a point. */
  readonly width_ms: number;
  /** Distance between two points. A runtime of an earlier version refuses it. @default width_ms */
  readonly step_ms?: number;
  /** Seconds between samples in the asking catalog. */
  readonly interval_seconds: number;
}

/** The times of a question. */
export type QuestionTimes =
  | { readonly start_ms: number; readonly count: number }
  | { readonly time_ms: number }
  | { readonly from_ms: number; readonly to_ms: number };

/** Builds the body of a question. @param question as printed; it is the key of cached responses */
export function questionBody(question: string, over: QuestionTimes): string {
  return `{"version":${questionVersion},"ask":${question},"over":${JSON.stringify(over)}}`;
}

/** Builds the body that only asks for the capabilities of a peer in a region. */
export function probeBody(probe: { readonly region: string }): string {
  return JSON.stringify({ version: questionVersion, probe });
}

/** The digest that binds a response to its question. */
export function questionKey(body: string | Uint8Array): string {
  return hash("sha256", body, "base64url");
}
