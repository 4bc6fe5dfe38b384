// The interface of the metrics API, with its requests and responses. It has no code.
import type { RuntimeConfig } from "../../crds/config.ts";
import type { Refusal } from "../errors/refusal.ts";
import type { Caller } from "./authorization/caller.ts";
import type { Parameters } from "./request/parameters.ts";

/** The context of one request. */
export interface RequestContext {
  readonly correlationId: string;
  /** Unix milliseconds of the request. */
  readonly nowMs: number;
  /** Address of a caller without a token. @default unknown */
  readonly address?: string | undefined;
}

/** One response, ready to be encoded. */
export interface MetricsResponse {
  /** 206: a part of the data is missing. Source: seed "Operational Metrics API" §7. */
  readonly status: 200 | 206;
  /** Response headers of seed "Operational Metrics API" §6, names as the seed writes them. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON body. */
  readonly body: object;
  /** Writes the same bytes as `JSON.stringify` of the body, faster. @default `JSON.stringify` */
  readonly json?: (() => Promise<Uint8Array>) | undefined;
  /** Handles a repeat request of the same caller. @default the request is handled like a new one */
  readonly again?: Again | undefined;
}

/**
 * Handles, charges and counts a request that differs from an earlier one of the same caller only in its time.
 *
 * @returns the headers that differ from the earlier response, always with the same names; the body is the same object.
 *   Undefined when the request has to be handled like a new one; then nothing was charged or counted
 */
export type Again = (nowMs: number) => Readonly<Record<string, string>> | undefined;

/** The result of one query of a bulk. `cost` is undefined when the query was refused before it had a plan. */
export type BulkResult = { readonly id: string; readonly cost: number | undefined } & (
  | { readonly response: MetricsResponse }
  | { readonly refusal: Refusal }
);

/** The response to a bulk. Source: wire, "Bulk". */
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
  /** The received bytes. */
  readonly body: Uint8Array;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
  /** Time until the peer gives up; undefined when it names none. */
  readonly remainingMs: number | undefined;
}

/** Partials: points as bytes, other results as JSON. */
export interface PartialsResponse {
  readonly status: 200;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/**
 * The metrics API without HTTP. Every method throws `Refusal` for an error of the caller and when all stores failed. An
 * aborted signal rejects with its reason. Source: seed "Operational Metrics API" §4.
 */
export interface MetricsApi {
  /** `GET /v1/metrics/query` */
  query(params: Parameters, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<MetricsResponse>;
  /** `GET /v1/metrics/instant` */
  instant(params: Parameters, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<MetricsResponse>;
  /** `POST /v1/metrics/bulk-query`. @param body the received bytes */
  bulk(body: Uint8Array, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<BulkResponse>;
  /** `GET /v1/metrics/slo`; a caller without any scope sees public objectives. */
  slo(params: Parameters, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<MetricsResponse>;
  /** `POST /v1/metrics/partials`: partials of this runtime's own stores for a runtime in another region. */
  partials(request: PartialsRequest): Promise<PartialsResponse>;
  /** `GET /v1/metrics/catalog`: the metrics that the caller may read. */
  catalog(params: Parameters, caller: Caller, context: RequestContext): MetricsResponse;
  /** `GET /v1/metrics/health` */
  health(): MetricsResponse;
  /** Applies another configuration to all later requests. */
  apply(config: RuntimeConfig): void;
  /** Closes the connections to the stores. Requests in progress fail. */
  stop(): Promise<void>;
}
