import type { MetricsResponse } from "../metrics-api.ts";
import type { RegionReport } from "../reads/region-status.ts";
import type { Result } from "../reads/run-plan.ts";
import type { LeafReads } from "../admission/admit-leaves.ts";
import type { FoundResponse } from "../response/cached-response.ts";
import { freshnessHeader } from "../response/response-headers.ts";
import type { LeafSeries } from "../leaves/leaf.ts";

/** The name of leaves in the cache of responses. */
export const leafRoute = "leaf";

/** The data of one leaf over the window of its query. It is the body of its cached response. */
export interface LeafData {
  readonly series: readonly LeafSeries[];
  /** Sentences about a metric without series, and about values that are NaN. @default none */
  readonly hints?: readonly string[];
  readonly isPartial: boolean;
  readonly regions: readonly RegionReport[];
  readonly mayRunCheaper: boolean;
  readonly retryAfterSeconds?: number;
  readonly shards: Result["shards"];
}

/** The answer to one leaf. */
export interface LeafAnswer {
  readonly data: LeafData;
  /** The headers of its data: age, lifetime and cache. */
  readonly headers: Readonly<Record<string, string>>;
  readonly reads: LeafReads;
  /** Undefined when the data was read for this request. */
  readonly found: FoundResponse | undefined;
}

/** The response of one leaf, as the cache of responses holds it. */
export function leafResponse(result: Result, cache: string): MetricsResponse & { readonly body: LeafData } {
  return {
    status: result.partial ? 206 : 200,
    headers: { ...freshnessHeader([result.freshnessSeconds]), "X-Query-Cache": cache },
    body: {
      series: result.series.map(({ labels, values }) => ({ labels, values })),
      ...(result.hints === undefined || result.hints.length === 0 ? {} : { hints: result.hints }),
      isPartial: result.partial,
      regions: result.regions,
      mayRunCheaper: result.mayRunCheaper,
      ...(result.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: result.retryAfterSeconds }),
      shards: result.shards,
    },
  };
}

/** The answer of a cached response. */
export function foundAnswer(found: FoundResponse): LeafAnswer {
  return {
    // Only leaves store responses under their route.
    data: found.response.body as LeafData,
    headers: found.response.headers,
    reads: { outcomes: [], share: 0 },
    found,
  };
}
