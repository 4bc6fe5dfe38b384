// Routes of the public port, one file per API. The logic of the APIs is in `webhooks/` and `metrics/`.
import { invalidField } from "../../errors/api-error.ts";
import type { UsageAnswer } from "../../../api/usage.ts";
import { publicReadScope, readScope, usageScope } from "../../metrics/authorization/access.ts";
import type { MetricsApi, MetricsResponse, RequestContext } from "../../metrics/metrics-api.ts";
import { bulkBytesMax } from "../../metrics/request/bulk-request.ts";
import { readWord, rejectUnknown } from "../../metrics/request/parameters.ts";
import { writeSelector } from "../../prometheus/compile/write-selector.ts";
import {
  bulkOperation,
  catalogOperation,
  healthOperation,
  instantOperation,
  queryOperation,
  sloOperation,
} from "../openapi/metrics-operations.ts";
import type { Operation } from "../openapi/operation.ts";
import {
  catalogChecksOperation,
  labelValuesOperation,
  planOperation,
  quotaOperation,
  sloHistoryOperation,
  usageOperation,
} from "../openapi/price-operations.ts";
import {
  chooseCoding,
  chooseMediaType,
  createRepresentations,
  nextPageLink,
  type Representations,
} from "../representation/representations.ts";
import {
  type CsvForm,
  csvLines,
  csvMediaType,
  csvOf,
  ndjsonMediaType,
  ndjsonOf,
  type QueryBody,
  tableMeta,
} from "../representation/tables.ts";
import type { ApiRequest, ApiResponse, Route } from "../server/route.ts";
import { bulkBody, bulkJson } from "./bulk-body.ts";
import { labelValues } from "./label-values.ts";

/** The metrics read API, without what starts and stops it. */
type MetricsReads = Pick<
  MetricsApi,
  | "query"
  | "plan"
  | "instant"
  | "bulk"
  | "slo"
  | "sloHistory"
  | "catalog"
  | "catalogChecks"
  | "describe"
  | "labelValues"
  | "quota"
  | "health"
  | "usage"
  | "admitEmpty"
>;

const json = "application/json";
const scopes = [readScope, publicReadScope];
/** In the order of preference. */
const seriesFormats = [json, csvMediaType, ndjsonMediaType] as const;
const bulkFormats = [json, ndjsonMediaType] as const;
/** Parameters whose result a table of points cannot show. */
const notInTables = ["exemplars", "explain"] as const;

/** `/v1/metrics/…`. Source: seed "Operational Metrics API" §4. */
export function metricsRoutes(metrics: MetricsReads): readonly Route[] {
  const representations = createRepresentations();
  const series = (name: string, operation: Operation, handle: Handler): Route =>
    seriesRoute({ name, operation, handle, representations });
  return [
    series("query", queryOperation, ({ query, caller, signal, ...request }) =>
      metrics.query(query, caller, signal, contextOf(request)),
    ),
    series("instant", instantOperation, ({ query, caller, signal, ...request }) =>
      metrics.instant(query, caller, signal, contextOf(request)),
    ),
    read("plan", planOperation, ({ query, caller, ...request }) => plan(metrics, query, caller, contextOf(request))),
    bulk(metrics),
    {
      ...read("slo", sloOperation, ({ query, caller, signal, address, ...request }) =>
        metrics.slo(query, caller, signal, { ...contextOf(request), address: address() }),
      ),
      allowsAnonymous: true,
    },
    read("slo/history", sloHistoryOperation, ({ query, caller, signal, ...request }) =>
      metrics.sloHistory(query, caller, signal, contextOf(request)),
    ),
    read("labels/:label/values", labelValuesOperation, (request) => labelValues(metrics, request, contextOf(request))),
    read("quota", quotaOperation, ({ query, caller, ...request }) => {
      rejectUnknown(query, () => false);
      return metrics.quota(caller, contextOf(request));
    }),
    read("catalog", catalogOperation, admitted(metrics, catalogOf(metrics))),
    read(
      "catalog/checks",
      catalogChecksOperation,
      admitted(metrics, ({ query, caller, ...request }) => metrics.catalogChecks(query, caller, contextOf(request))),
    ),
    read(
      "health",
      healthOperation,
      admitted(metrics, ({ caller }) => metrics.health(caller)),
    ),
    usageRoute(metrics),
  ];
}

/** The plan of a query, with its expression where one says it. */
async function plan(
  metrics: Pick<MetricsApi, "plan" | "describe">,
  query: ApiRequest["query"],
  caller: ApiRequest["caller"],
  context: RequestContext,
): Promise<ApiResponse> {
  const { status, headers, body, selector } = await metrics.plan(query, caller, context);
  const expression = selector && writeSelector(selector, (id) => metrics.describe(id, caller));
  return {
    status,
    headers: { ...headers, Vary: "Authorization, Accept" },
    body: { ...body, expression: expression ?? null },
  };
}

function catalogOf({ catalog }: MetricsReads): (request: ApiRequest) => MetricsResponse {
  return ({ query, caller, ...request }) => catalog(query, caller, contextOf(request));
}

/** Charges one request for a response that reads no store. */
function admitted(
  { admitEmpty }: Pick<MetricsApi, "admitEmpty">,
  handle: (request: ApiRequest) => MetricsResponse | Promise<MetricsResponse>,
): Handler {
  return async (request) => {
    const quotas = await admitEmpty(request.caller);
    const response = await handle(request);
    return { ...response, headers: { ...response.headers, ...quotas } };
  };
}

function contextOf({ correlationId, nowMs, traceparent }: Pick<ApiRequest, "correlationId" | "nowMs" | "traceparent">) {
  return { correlationId, nowMs, traceparent };
}

/** A route that returns JSON only. */
function read(name: string, operation: Operation, handle: (request: ApiRequest) => Promise<ApiResponse>): Route {
  return {
    method: "GET",
    path: `/v1/metrics/${name}`,
    scopes,
    operation,
    handle: (request) => {
      chooseMediaType(request.accept, [json]);
      return handle(request);
    },
  };
}

type Handler = (request: ApiRequest) => Promise<MetricsResponse>;

interface SeriesRoute {
  readonly name: string;
  readonly operation: Operation;
  readonly handle: Handler;
  readonly representations: Representations;
}

/** A route that returns series in the format with the greatest weight. */
function seriesRoute({ name, operation, handle, representations }: SeriesRoute): Route {
  return {
    method: "GET",
    path: `/v1/metrics/${name}`,
    scopes,
    operation,
    handle: async (request) => {
      const format = chooseMediaType(request.accept, seriesFormats);
      if (format === csvMediaType) rejectInTables(request);
      const csv = readWord(request.query, "csv", ["raw"]) ?? "neutral";
      const query = request.query.has("csv")
        ? new Map([...request.query].filter(([own]) => own !== "csv"))
        : request.query;
      const { status, headers, body, json: bytesOf, revalidate, sent } = await handle({ ...request, query });
      const links = [nextPageLink(request.query, body), headers["Link"]].filter((link) => link !== undefined);
      const link = links.length === 0 ? {} : { Link: links.join(", ") };
      const allHeaders = {
        ...headers,
        ...tableHeaders(format, body as QueryBody),
        ...link,
        Vary: "Authorization, Accept, Accept-Encoding",
      };
      const coding = chooseCoding(request.acceptEncoding);
      const {
        bytes,
        etag,
        coding: used,
      } = await representations.of(body, format === csvMediaType ? `${format} ${csv}` : format, coding, () =>
        written(format, body as QueryBody, { bytesOf, csv }),
      );
      const coded = used === "identity" ? {} : { "Content-Encoding": used };
      const tagged = { ...allHeaders, ETag: etag, ...coded, "Content-Type": contentTypes[format] };
      return { status, headers: tagged, body: bytes, sent, ...(revalidate === undefined ? {} : { revalidate }) };
    },
  };
}

const contentTypes: Readonly<Record<(typeof seriesFormats)[number], string>> = {
  [json]: "application/json; charset=utf-8",
  [csvMediaType]: "text/csv; charset=utf-8; header=present",
  [ndjsonMediaType]: ndjsonMediaType,
};

/** The header that carries `meta` and errors of a table. */
function tableHeaders(format: string, body: QueryBody): Readonly<Record<string, string>> {
  return format === csvMediaType ? { "X-Query-Meta": tableMeta(body) } : {};
}

function written(
  format: (typeof seriesFormats)[number],
  body: QueryBody,
  { bytesOf, csv }: { readonly bytesOf: MetricsResponse["json"]; readonly csv: CsvForm },
): Uint8Array | Promise<Uint8Array> {
  switch (format) {
    case json:
      return bytesOf?.() ?? Buffer.from(JSON.stringify(body));
    case csvMediaType:
      return Buffer.from(csvOf(body, csv));
    case ndjsonMediaType:
      return Buffer.from(ndjsonOf({ ...body }, "data"));
    default:
      return format satisfies never;
  }
}

function rejectInTables({ query }: ApiRequest): void {
  const odd = notInTables.find((name) => query.get(name)?.includes("true") ?? false);
  if (odd !== undefined)
    throw invalidField("invalid_request", odd, `${csvMediaType} cannot represent ${odd}; accept ${json}`);
}

function bulk(metrics: MetricsReads): Route {
  return {
    method: "POST",
    path: "/v1/metrics/bulk-query",
    scopes,
    operation: bulkOperation,
    bodyBytesMax: bulkBytesMax,
    handle: async ({ body, caller, signal, correlationId, accept, ...request }) => {
      const format = chooseMediaType(accept, bulkFormats);
      const response = await metrics.bulk(body, caller, signal, contextOf({ ...request, correlationId }));
      const headers = { ...response.headers, Vary: "Accept" };
      const rejected = response.results.flatMap((result) =>
        "error" in result ? [{ item: result.id, apiError: result.error }] : [],
      );
      if (format === json) {
        return {
          status: response.status,
          headers: { ...headers, "Content-Type": contentTypes[json] },
          body: await bulkJson(response, correlationId),
          rejected,
          sent: response.sent,
        };
      }
      const lines = Buffer.from(ndjsonOf({ ...bulkBody(response, correlationId) }, "results"));
      return {
        status: response.status,
        headers: { ...headers, "Content-Type": ndjsonMediaType },
        body: lines,
        rejected,
        sent: response.sent,
      };
    },
  };
}

const usageFormats = [json, csvMediaType] as const;
const usageSums = ["requests", "points", "cached_points", "bytes", "cost_estimate", "cost"] as const;

/** Usage of clients. A client sees its own rows, and all of them with the scope `metrics:usage`. */
function usageRoute({ usage }: Pick<MetricsReads, "usage">): Route {
  return {
    method: "GET",
    path: "/v1/metrics/usage",
    scopes: [readScope, publicReadScope, usageScope],
    operation: usageOperation,
    handle: async ({ accept, query, caller, correlationId, nowMs }) => {
      const format = chooseMediaType(accept, usageFormats);
      const form = readWord(query, "csv", ["raw"]) ?? "neutral";
      const { status, headers, body } = await usage(query, caller, { correlationId, nowMs });
      const own = { ...headers, Vary: "Authorization, Accept" };
      if (format === json) return { status, headers: own, body };
      const meta = { "X-Query-Meta": JSON.stringify(body.meta) };
      const type = { "Content-Type": "text/csv; charset=utf-8; header=present" };
      return { status, headers: { ...own, ...meta, ...type }, body: Buffer.from(usageTable(body, form)) };
    },
  };
}

/** A row for each item, with a column for each group. */
function usageTable({ data, meta }: UsageAnswer, form: CsvForm): string {
  const rows = data.map((item) => [
    item.from,
    item.to,
    ...meta.group_by.map((group) => item[group] ?? ""),
    ...usageSums.map((name) => item[name]),
  ]);
  return csvLines(["from", "to", ...meta.group_by, ...usageSums], rows, form);
}
