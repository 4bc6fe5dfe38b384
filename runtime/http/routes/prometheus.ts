import { invalidField } from "../../errors/api-error.ts";
import { publicReadScope, readScope } from "../../metrics/authorization/access.ts";
import type {
  FixedName,
  PrometheusResponse,
  PrometheusApi,
  PrometheusRequest,
} from "../../prometheus/prometheus-api.ts";
import { inForm, prometheusOperations } from "../openapi/prometheus-operations.ts";
import { chooseCoding, createRepresentations, type Representations } from "../representation/representations.ts";
import type { ApiRequest, ApiResponse, Route } from "../server/route.ts";

/** Forms of Grafana hold one expression; a target holds 8 KiB. */
const formBytesMax = 65_536;
const root = "/prometheus";
const scopes = [readScope, publicReadScope];
/** One tenant. Several, which Mimir joins with `|`, are not one. */
const tenantPattern = /^[^\s|,]{1,200}$/u;

type Name = keyof typeof prometheusOperations;
type Handler = (request: PrometheusRequest, path: ApiRequest["path"]) => Promise<PrometheusResponse>;

/** `/prometheus/api/v1/…`. Source: Prometheus, "HTTP API". */
export function prometheusRoutes(api: PrometheusApi): readonly Route[] {
  const representations = createRepresentations();
  const both = (name: Name, handle: Handler): readonly Route[] => [
    route("GET", name, { handle, representations }),
    {
      ...route("POST", name, { handle, representations }),
      operation: inForm(prometheusOperations[name]),
      bodyBytesMax: formBytesMax,
      takesForms: true,
    },
  ];
  const get = (name: Name, handle: Handler): Route => route("GET", name, { handle, representations });
  return [
    ...both("query", (request) => api.query(request)),
    ...both("query_range", (request) => api.queryRange(request)),
    ...both("query_exemplars", (request) => api.exemplars(request)),
    ...both("format_query", (request) => api.formatQuery(request)),
    ...both("labels", (request) => api.labels(request)),
    get("label/:name/values", (request, path) => api.labelValues(request, path["name"] ?? "")),
    ...both("series", (request) => api.series(request)),
    get("metadata", (request) => api.metadata(request)),
    ...(["status/buildinfo", "features", "rules", "alerts"] satisfies readonly FixedName[]).map((name) =>
      get(name, (request) => api.fixed(name, request)),
    ),
    ...[root, `${root}/`].map(greeting),
  ];
}

interface Serving {
  readonly handle: Handler;
  readonly representations: Representations;
}

function route(method: "GET" | "POST", name: Name, { handle, representations }: Serving): Route {
  return {
    method,
    path: `${root}/api/v1/${name}`,
    scopes,
    operation: prometheusOperations[name],
    handle: async (request) => {
      return represented(request, await handle(prometheusRequest(request), request.path), representations);
    },
  };
}

function prometheusRequest({ query, caller, tenant, signal, ...request }: ApiRequest): PrometheusRequest {
  const { correlationId, nowMs, traceparent } = request;
  return { params: query, caller, tenant: oneTenant(tenant), signal, context: { correlationId, nowMs, traceparent } };
}

function oneTenant(header: string | undefined): string | undefined {
  if (header === undefined || header === "" || tenantPattern.test(header)) return header === "" ? undefined : header;
  throw invalidField(
    "invalid_request",
    "X-Scope-OrgID",
    "X-Scope-OrgID must select one tenant of at most 200 characters",
  );
}

async function represented(
  { acceptEncoding }: ApiRequest,
  { headers, body, revalidate, sent }: PrometheusResponse,
  representations: Representations,
): Promise<ApiResponse> {
  const coding = chooseCoding(acceptEncoding);
  const write = (): Uint8Array => (body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body)));
  const { bytes, etag, coding: used } = await representations.of(body, "application/json", coding, write);
  const own = {
    Vary: "Authorization, Accept-Encoding, X-Scope-OrgID",
    ETag: etag,
    ...(used === "identity" ? {} : { "Content-Encoding": used }),
    "Content-Type": "application/json",
  };
  return { status: 200, headers: { ...headers, ...own }, body: bytes, revalidate, sent };
}

/** Some clients require a response at the address of the server before they send a query. */
function greeting(path: string): Route {
  const body = Buffer.from("Prometheus' HTTP API over governed metrics: /prometheus/api/v1/query\n");
  const headers = { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "public, max-age=300" };
  return { method: "GET", path, scopes: [], isOpen: true, handle: async () => ({ status: 200, headers, body }) };
}
