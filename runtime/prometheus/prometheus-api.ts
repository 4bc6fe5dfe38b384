// Prometheus' HTTP API over the metrics API: expressions, look-ups and their responses. It has neither HTTP nor stores.
import type { Caller } from "../metrics/authorization/access.ts";
import type { AgeHeaders, RequestContext } from "../metrics/metrics-api.ts";
import type { Parameters } from "../metrics/request/parameters.ts";
import type { SelectorsResult } from "../metrics/request/selector.ts";

/** One request of a client of Prometheus. */
export interface PrometheusRequest {
  /** Parameters of the form come before those of the target. Unknown ones are ignored, as Prometheus does. */
  readonly params: Parameters;
  readonly caller: Caller;
  /** The `X-Scope-OrgID` header. @default no tenant is named */
  readonly tenant: string | undefined;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
}

/** One response with status 200. */
export interface PrometheusResponse {
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, or its bytes. */
  readonly body: object;
  /** Handles a repeat request of the same caller. @default the request is handled like a new one */
  readonly revalidate?: AgeHeaders | undefined;
  /** As `sent` of `MetricsResponse`. @default the bytes are not counted */
  readonly sent?: ((bytes: number) => void) | undefined;
}

/** Operations whose responses depend on nothing. */
export type FixedName = "status/buildinfo" | "features" | "rules" | "alerts";

/** The operations of one request each. Every method throws `ApiError`. Source: Prometheus, "HTTP API". */
export interface PrometheusApi {
  /** `query`: an expression at one time. */
  query(request: PrometheusRequest): Promise<PrometheusResponse>;
  /** `query_range`: an expression over a range of times. */
  queryRange(request: PrometheusRequest): Promise<PrometheusResponse>;
  /** `query_exemplars`: exemplars of the metrics of an expression. */
  exemplars(request: PrometheusRequest): Promise<PrometheusResponse>;
  /** `format_query`: the canonical text of an expression. */
  formatQuery(request: PrometheusRequest): Promise<PrometheusResponse>;
  /** `labels`: names of the labels of metrics. */
  labels(request: PrometheusRequest): Promise<PrometheusResponse>;
  /** `label/<name>/values`: values of one label. */
  labelValues(request: PrometheusRequest, label: string): Promise<PrometheusResponse>;
  /** `series`: label sets of metrics. */
  series(request: PrometheusRequest): Promise<PrometheusResponse>;
  /** `metadata`: types and help of metrics. */
  metadata(request: PrometheusRequest): Promise<PrometheusResponse>;
  /** A response that is the same for every caller. */
  fixed(name: FixedName, request: PrometheusRequest): Promise<PrometheusResponse>;
}

/** Members of a response that states that a part of its data is missing, or cut off. */
interface Reservations {
  readonly warnings?: readonly string[];
  readonly isPartial?: true;
}

/** The response of a look-up. @param headers of the quotas. @default none */
export function success(
  data: unknown,
  headers: PrometheusResponse["headers"] = {},
  reservations: Reservations = {},
): PrometheusResponse {
  const { warnings = [], ...others } = reservations;
  const members = warnings.length === 0 ? others : { warnings, ...others };
  return { headers, body: { status: "success", data, ...members } };
}

/** Warnings that name the regions without all of their data, and why. */
export function regionWarnings(regions: SelectorsResult["regions"]): readonly string[] {
  return regions
    .filter(({ state }) => state !== "ok")
    .flatMap(({ region, state, reasons = [] }) => [
      `data from the region ${region} is incomplete: ${state}`,
      ...reasons.map(({ detail }) => detail),
    ]);
}
