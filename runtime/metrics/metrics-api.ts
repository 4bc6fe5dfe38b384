import type { RuntimeConfig } from "../../crds/config.ts";
import type { Refusal } from "../errors/refusal.ts";
import type { Caller } from "./authorization/caller.ts";
import type { Parameters } from "./request/parameters.ts";

/** What one request brings besides its parameters. */
export interface RequestContext {
  readonly correlationId: string;
  /** Unix milliseconds at which the request came. */
  readonly nowMs: number;
  /** Where a caller without a token is. @default nobody knows where */
  readonly address?: string | undefined;
}

/** One answer, ready to be encoded. */
export interface MetricsResponse {
  /** 206: some store is missing from the data. Source: seed "Operational Metrics API" §7. */
  readonly status: 200 | 206;
  /** Response headers of seed "Operational Metrics API" §6, names as the seed writes them. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON body. */
  readonly body: object;
  /** The very same bytes that `JSON.stringify` makes of the body, sooner; undefined: there is no other way. */
  readonly json?: (() => Promise<Uint8Array>) | undefined;
  /** How the same request of the same caller is answered again. @default by looking at it as if it were new */
  readonly again?: Again | undefined;
}

/**
 * Answers, charges and counts a request that differs from an earlier one of the same caller in nothing but its time.
 *
 * @returns the headers that differ from the earlier answer's, always the same names; the body is the same object.
 * Undefined when the
 *   request has to be looked at as if it were new, and nothing was spent or counted
 */
export type Again = (nowMs: number) => Readonly<Record<string, string>> | undefined;

/** What became of one query of a bulk. `cost` is undefined when it was refused before it had a plan. */
export type BulkResult = { readonly id: string; readonly cost: number | undefined } & (
  | { readonly answer: MetricsResponse }
  | { readonly refusal: Refusal }
);

/** The answer of a bulk. Source: wire, "Bulk". */
export interface BulkResponse {
  /** 206: a query is partial or failed because of a store. */
  readonly status: 200 | 206;
  readonly headers: Readonly<Record<string, string>>;
  /** In the order of the request. */
  readonly results: readonly BulkResult[];
  readonly meta: object;
}

/** One question of a runtime in another region. */
export interface PartialsRequest {
  /** As it was received. */
  readonly body: Uint8Array;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
  /** For how long the answer is of use; undefined: as long as any. */
  readonly remainingMs: number | undefined;
}

/** Partials as bytes, or, of what is small, as JSON. */
export interface PartialsResponse {
  readonly status: 200;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/**
 * The metrics read API without its HTTP. Every method throws `Refusal` for what the caller did wrong and for stores
 * that all failed; an aborted signal rejects with the signal's reason. Source: seed "Operational Metrics API" §4.
 */
export interface MetricsApi {
  /** `GET /v1/metrics/query` */
  query(params: Parameters, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<MetricsResponse>;
  /** `GET /v1/metrics/instant` */
  instant(params: Parameters, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<MetricsResponse>;
  /** `POST /v1/metrics/bulk-query`: `body` as it was received. */
  bulk(body: Uint8Array, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<BulkResponse>;
  /** `GET /v1/metrics/slo`; a caller without any scope sees what is public. */
  slo(params: Parameters, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<MetricsResponse>;
  /** `POST /v1/metrics/partials`: what a runtime in another region wants of this one's own stores. */
  partials(request: PartialsRequest): Promise<PartialsResponse>;
  /** `GET /v1/metrics/catalog`: only what the caller may read. */
  catalog(params: Parameters, caller: Caller, context: RequestContext): MetricsResponse;
  /** `GET /v1/metrics/health` */
  health(): MetricsResponse;
  /** Obeys another configuration from the next request on. */
  apply(config: RuntimeConfig): void;
  /** Closes the connections to the stores. Requests under way fail. */
  stop(): Promise<void>;
}
