import { type Slo, sloStatesByRank, type StatusAnswer } from "../../../api/objectives.ts";
import { ApiError } from "../../errors/api-error.ts";
import type { MetricsApi } from "../../metrics/metrics-api.ts";
import { rejectUnknown } from "../../metrics/request/parameters.ts";
import { statusOperation } from "../openapi/price-operations.ts";
import {
  chooseCoding,
  chooseMediaType,
  createRepresentations,
  type Representations,
} from "../representation/representations.ts";
import { sentencePage, statusPage, statusPagePolicy } from "../representation/status-page.ts";
import { problemMediaType, problemOf } from "../server/problem.ts";
import { anonymous, type ApiRequest, type ApiResponse, type Route } from "../server/route.ts";

const json = "application/json";
const html = "text/html";
const pageHeaders = {
  "Content-Type": `${html}; charset=utf-8`,
  "Content-Security-Policy": statusPagePolicy,
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};
/** A wrong address is stored for a short time, so that a new public objective shows soon. */
const absentHeaders = { "Cache-Control": "public, max-age=30, s-maxage=30", Vary: "Accept-Encoding" };
const unavailableHeaders = { "Cache-Control": "no-store" };

const absent = new ApiError("not_found", "No public status page exists at this URL.");
/** The same bytes for every name: nobody learns which tenants exist. */
const absentPage = Buffer.from(sentencePage("Not found", absent.message));
const absentProblem = Buffer.from(JSON.stringify(problemOf(absent, "no-public-status")));
const unavailablePage = Buffer.from(
  sentencePage("Status unknown", "The status is temporarily unavailable. Reload this page in a minute."),
);

/**
 * `/status/:tenant` and `/v1/status/:tenant`: the public objectives of a tenant, as a page and as JSON. They need no
 * token. Source: seed "Operational Metrics API" §4.5 and §8.
 */
export function statusRoutes(metrics: Pick<MetricsApi, "slo">): readonly Route[] {
  const representations = createRepresentations();
  return [pageRoute(metrics, representations), jsonRoute(metrics, representations)];
}

const open = { method: "GET", scopes: [], isOpen: true } as const;

function pageRoute(metrics: Pick<MetricsApi, "slo">, representations: Representations): Route {
  return {
    ...open,
    path: "/status/:tenant",
    handle: async (request) => {
      chooseMediaType(request.accept, [html]);
      try {
        const read = await readStatus(metrics, request);
        if (read === undefined) return { status: 404, headers: { ...pageHeaders, ...absentHeaders }, body: absentPage };
        return await tagged(
          request,
          { ...read, headers: { ...pageHeaders, ...read.headers } },
          representations,
          (status) => Buffer.from(statusPage(status)),
        );
      } catch (error) {
        if (!(error instanceof ApiError) || error.status < 500) throw error;
        return {
          status: 503,
          headers: { ...pageHeaders, ...unavailableHeaders, "Retry-After": "60" },
          body: unavailablePage,
        };
      }
    },
  };
}

function jsonRoute(metrics: Pick<MetricsApi, "slo">, representations: Representations): Route {
  return {
    ...open,
    path: "/v1/status/:tenant",
    operation: statusOperation,
    handle: async (request) => {
      chooseMediaType(request.accept, [json]);
      rejectUnknown(request.query, () => false);
      const read = await readStatus(metrics, request);
      if (read === undefined)
        return { status: 404, headers: { "Content-Type": problemMediaType, ...absentHeaders }, body: absentProblem };
      const headers = { "Content-Type": `${json}; charset=utf-8`, ...read.headers };
      return tagged(request, { ...read, headers }, representations, (status) => Buffer.from(JSON.stringify(status)));
    },
  };
}

interface ReadStatus extends Pick<ApiResponse, "sent"> {
  readonly status: StatusAnswer;
  readonly headers: Readonly<Record<string, string>>;
}

/** The public objectives of the tenant in the path; undefined if it has none, or is no name of a tenant. */
async function readStatus(
  metrics: Pick<MetricsApi, "slo">,
  { path: { tenant = "" }, signal, address, correlationId, nowMs, traceparent }: ApiRequest,
): Promise<ReadStatus | undefined> {
  const context = { correlationId, nowMs, traceparent, address: address() };
  try {
    const { headers, body, sent } = await metrics.slo(new Map([["tenant", [tenant]]]), anonymous, signal, context);
    const data = (body as { readonly data: readonly Slo[] }).data.map(objectiveOf);
    if (data.length === 0) return undefined;
    const status = sloStatesByRank.find((word) => data.some((objective) => objective.status === word)) ?? "ok";
    const cacheControl = headers["Cache-Control"] ?? "no-store";
    const own = { "Cache-Control": cacheControl, Vary: "Accept-Encoding" };
    return { status: { tenant, status, data }, headers: own, sent };
  } catch (error) {
    if (error instanceof ApiError && [400, 403].includes(error.status)) return undefined;
    throw error;
  }
}

function objectiveOf(item: Slo): StatusAnswer["data"][number] {
  const { name, title = name, domain, objective, window_days, calendar, at, status, regions } = item;
  const { corrections, uncorrected } = item;
  const named = (isOk: boolean): readonly string[] =>
    regions.filter(({ state }) => (state === "ok") === isOk).map(({ region }) => region);
  return {
    name,
    title,
    domain,
    objective,
    window_days,
    ...(calendar && { calendar }),
    at,
    status,
    regions: named(true),
    missing_regions: named(false),
    ...figuresOf(item),
    ...(corrections && { corrections }),
    ...(uncorrected && { uncorrected: figuresOf(uncorrected) }),
  };
}

function figuresOf({ sli, error_budget: { total, remaining } }: Pick<Slo, "sli" | "error_budget">) {
  return {
    ...(sli === undefined ? {} : { sli }),
    ...(remaining === undefined ? {} : { budget_remaining: remaining / total }),
  };
}

async function tagged(
  { acceptEncoding }: ApiRequest,
  { status, headers, sent }: ReadStatus,
  representations: Representations,
  write: (status: StatusAnswer) => Uint8Array,
): Promise<ApiResponse> {
  const made = await representations.of(status, "status", chooseCoding(acceptEncoding), () => write(status));
  const coded = made.coding === "identity" ? {} : { "Content-Encoding": made.coding };
  return { status: 200, headers: { ...headers, ...coded, ETag: made.etag }, body: made.bytes, sent };
}
