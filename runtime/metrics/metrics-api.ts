// The interface of the metrics API, with its requests and responses. It has no code.
import type { PreviewedQueries, PreviewedReaders } from "../../api/previews.ts";
import type { UsageAnswer } from "../../api/usage.ts";
import type { LabelName, MetricConfig, RuntimeConfig } from "../../crds/config.ts";
import type { ConfigzObserved } from "../../crds/configz.ts";
import type { ApiError } from "../errors/api-error.ts";
import type { StartedSpan } from "../tracing/tracer.ts";
import type { Caller } from "./authorization/access.ts";
import type { Filters, Parameters } from "./request/parameters.ts";
import type { MetricSelector, SelectorsRequest, SelectorsResult } from "./request/selector.ts";

/** The rights of the caller of a preview. `*`: all. */
export interface QueryReader {
  readonly tenants: readonly string[];
  readonly metrics: readonly string[];
}

/** The rights of the caller of a preview to usage. */
export interface UsageReader extends QueryReader {
  readonly client: string;
  /** True with the scope `metrics:usage`. */
  readonly seesAllUsage: boolean;
}

/** The context of one request. */
export interface RequestContext {
  readonly correlationId: string;
  /** Unix milliseconds of the request. */
  readonly nowMs: number;
  /** Address of a caller without a token. @default unknown */
  readonly address?: string | undefined;
  /** W3C trace context of the request. @default none */
  readonly traceparent?: string | undefined;
  /** The span of the request, which the API itself sets. @default no spans */
  readonly span?: StartedSpan | undefined;
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
  readonly revalidate?: AgeHeaders | undefined;
  /** Receives the bytes of the body that were sent, for each sent response. @default they are not counted */
  readonly sent?: ((bytes: number) => void) | undefined;
}

/**
 * Handles, charges and counts a request that differs from an earlier one of the same caller only in its time.
 *
 * @returns the headers that differ from the earlier response, always with the same names; the body is the same object.
 *   Undefined when the request has to be handled like a new one; then nothing was charged or counted
 */
export type AgeHeaders = (nowMs: number) => Readonly<Record<string, string>> | undefined;

/** Usage with the headers of the quotas. */
export interface UsageResponse extends Pick<MetricsResponse, "status" | "headers"> {
  readonly body: UsageAnswer;
}

/** The plan and the price of a query that is not run. */
export interface PlannedQuery extends Pick<MetricsResponse, "status" | "headers" | "body"> {
  /** The selector that reads the same points. @default no expression says the query */
  readonly selector: MetricSelector | undefined;
}

/** The result of one query of a bulk. `cost` is undefined when the query was rejected before it had a plan. */
export type BulkResult = { readonly id: string; readonly cost: number | undefined } & (
  | { readonly response: MetricsResponse }
  | { readonly error: ApiError }
);

/** The response to a bulk. */
export interface BulkResponse extends Pick<MetricsResponse, "sent"> {
  /** 206: a query is partial or failed because of a store. */
  readonly status: 200 | 206;
  readonly headers: Readonly<Record<string, string>>;
  /** In the order of the request. */
  readonly results: readonly BulkResult[];
  readonly meta: object;
}

/** One partial request of a runtime in another region. */
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

/** A metric as its catalog describes it. */
export interface DescribedMetric {
  readonly metric: MetricConfig;
  /** Thresholds of its SLOs, in their order. */
  readonly thresholds: readonly number[];
  /** The longest window of the caller's class. */
  readonly maxWindowSeconds: number;
}

/** The reader of the catalog. */
export interface CatalogReader {
  readonly caller: Caller;
  /** The tenant that the request names. @default none */
  readonly tenant: string | undefined;
  /** Unix milliseconds of the request. */
  readonly nowMs: number;
}

/** A look-up of the labels of series. */
export interface LookUp {
  /** The metrics, each with its filters. */
  readonly selectors: readonly { readonly metric: string; readonly filters: Filters }[];
  /**
   * True when the request names no metric and means all that the caller may read: those that a look-up cannot read are
   * left out. @default the first of them is the error of the look-up
   */
  readonly isOfAll?: boolean;
  /** Requires a store for every named region and environment. @default the others add nothing */
  readonly requiresMatches?: boolean;
  /** The tenant that a header names. @default none */
  readonly tenant: string | undefined;
  /** Unix milliseconds. The look-up reads an hour, six or a day up to the end, the least of them that holds both. */
  readonly startMs: number;
  readonly endMs: number;
}

/** The values of a label. */
export interface LabelValues {
  /** Sorted, without duplicates. */
  readonly values: readonly string[];
  /** Some data is missing. */
  readonly isPartial: boolean;
  /** The regions that were read, sorted, each with its state over all metrics. */
  readonly regions: SelectorsResult["regions"];
  /** Sentences about metrics that could not be read. */
  readonly failures: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Metrics that are left out, since they may not be read over the regions of the caller together. */
  readonly leftOut: readonly string[];
  /** Metrics above the bound of one look-up, which are left out. */
  readonly unread: number;
  /** Sentences about named metrics that lack the label and thus have no values. */
  readonly unlabelled: readonly string[];
}

/** The labels of series, sorted by metric and labels. */
export interface SeriesLabels extends Omit<LabelValues, "values" | "unlabelled"> {
  readonly series: readonly {
    readonly metric: string;
    readonly labels: Readonly<Partial<Record<LabelName, string>>>;
  }[];
  /** Labels are left out, because a query cannot group by all of them. */
  readonly isNarrowed: boolean;
}

/**
 * The metrics API without HTTP. Every method throws `ApiError` for an error of the caller and when all stores failed.
 * An aborted signal rejects with its reason. Source: seed "Operational Metrics API" §4.
 */
export interface MetricsApi {
  /** `GET /v1/metrics/query` */
  query(params: Parameters, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<MetricsResponse>;
  /** `GET /v1/metrics/instant` */
  instant(params: Parameters, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<MetricsResponse>;
  /** `GET /v1/metrics/plan`: the plan and the price of {@link MetricsApi.query}, which is not run. */
  plan(params: Parameters, caller: Caller, context: RequestContext): Promise<PlannedQuery>;
  /** `GET /v1/metrics/quota`: the quotas of the caller. It charges nothing. */
  quota(caller: Caller, context: RequestContext): Promise<MetricsResponse>;
  /** `POST /v1/metrics/bulk-query`. @param body the received bytes */
  bulk(body: Uint8Array, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<BulkResponse>;
  /** Several governed queries as one request, for an expression of PromQL. Nobody may change the values of a result. */
  selectors(
    request: SelectorsRequest,
    caller: Caller,
    signal: AbortSignal,
    context: RequestContext,
  ): Promise<SelectorsResult>;
  /**
   * The values of a label over the series of metrics. Regions, environments and tenants are those of the configuration
   * within the rights, where no other label is filtered by.
   */
  labelValues(
    request: LookUp & { readonly label: LabelName },
    caller: Caller,
    signal: AbortSignal,
    context: RequestContext,
  ): Promise<LabelValues>;
  /** The labels of the series of metrics. */
  seriesLabels(request: LookUp, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<SeriesLabels>;
  /** `GET /v1/metrics/slo`; a caller without any scope sees public objectives. */
  slo(params: Parameters, caller: Caller, signal: AbortSignal, context: RequestContext): Promise<MetricsResponse>;
  /** `GET /v1/metrics/slo/history`: the error budget of one objective over its window. */
  sloHistory(
    params: Parameters,
    caller: Caller,
    signal: AbortSignal,
    context: RequestContext,
  ): Promise<MetricsResponse>;
  /** `POST /v1/metrics/partials`: partials of this runtime's own stores for a runtime in another region. */
  partials(request: PartialsRequest): Promise<PartialsResponse>;
  /** `GET /v1/metrics/catalog`: the metrics that the caller may read. */
  catalog(params: Parameters, caller: Caller, context: RequestContext): MetricsResponse;
  /** The metrics of {@link MetricsApi.catalog} by id, with their configuration. */
  readable(reader: CatalogReader): ReadonlyMap<string, DescribedMetric>;
  /** One metric; undefined when no catalog has it. @throws ApiError `metric_forbidden`, `role_missing` */
  describe(id: string, caller: Caller): DescribedMetric | undefined;
  /** Charges a request that reads no metric. Returns the headers of the quotas. */
  admitEmpty(caller: Caller): Promise<Readonly<Record<string, string>>>;
  /** `GET /v1/metrics/health` */
  health(caller: Caller): Promise<MetricsResponse>;
  /** `GET /v1/metrics/usage`: what clients used, as far as the caller may see it. */
  usage(params: Parameters, caller: Caller, context: RequestContext): Promise<UsageResponse>;
  /** The effect of another configuration on recorded queries of all pods. */
  judgeEdit(before: RuntimeConfig, after: RuntimeConfig, reader: QueryReader): Promise<PreviewedQueries>;
  /** The clients that used what another configuration removes from metrics. */
  removedUses(before: RuntimeConfig, after: RuntimeConfig, reader: UsageReader): Promise<PreviewedReaders>;
  /** The catalogs that this pod compared with their stores; none in a pod that does not compare them. */
  observed(): readonly ConfigzObserved[];
  /** `GET /v1/metrics/catalog/checks`: how the caller's metrics compare with their stores. */
  catalogChecks(params: Parameters, caller: Caller, context: RequestContext): Promise<MetricsResponse>;
  /** Applies another configuration to all later requests. */
  apply(config: RuntimeConfig): void;
  /** Stores the usage that is not stored yet. */
  stopUsage(remainingMs: number): Promise<void>;
  /** Closes the connections to the stores. Requests in progress fail. */
  stop(): Promise<void>;
}
