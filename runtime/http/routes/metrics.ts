import { publicReadScope, readScope } from "../../metrics/caller.ts";
import type { MetricsApi } from "../../metrics/metrics-api.ts";
import type { ApiAnswer, ApiRequest, Route } from "../route.ts";

/** The metrics read API, without what starts and stops it. */
export type MetricsReads = Pick<MetricsApi, "query" | "instant" | "catalog" | "health">;

/** `GET /v1/metrics/…`. Source: seed "Operational Metrics API" §4. */
export function metricsRoutes(metrics: MetricsReads): readonly Route[] {
  return [
    read("query", ({ query, caller, signal, correlationId, nowMs }) =>
      metrics.query(query, caller, signal, { correlationId, nowMs }),
    ),
    read("instant", ({ query, caller, signal, correlationId, nowMs }) =>
      metrics.instant(query, caller, signal, { correlationId, nowMs }),
    ),
    read("catalog", async ({ query, caller, correlationId, nowMs }) =>
      metrics.catalog(query, caller, { correlationId, nowMs }),
    ),
    read("health", async () => metrics.health()),
  ];
}

function read(name: string, answer: (request: ApiRequest) => Promise<ApiAnswer>): Route {
  return { method: "GET", path: `/v1/metrics/${name}`, scopes: [readScope, publicReadScope], answer };
}
