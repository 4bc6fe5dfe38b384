import { refuseField } from "../../errors/refusal.ts";
import { peerScope } from "../../metrics/authorization/caller.ts";
import type { MetricsApi } from "../../metrics/metrics-api.ts";
import { questionBytesMax } from "../../metrics/federation/parse-question.ts";
import { partialsOperation } from "../openapi/peer-operations.ts";
import type { Route } from "../server/route.ts";

/**
 * The route for runtimes of other regions, `POST /v1/metrics/partials`. It accepts only tokens that are bound to a
 * certificate.
 */
export function peerRoutes(metrics: Pick<MetricsApi, "partials">): readonly Route[] {
  return [
    {
      method: "POST",
      path: "/v1/metrics/partials",
      scopes: [peerScope],
      isCertificateRequired: true,
      operation: partialsOperation,
      bodyBytesMax: questionBytesMax,
      answer: ({ body, caller, signal, correlationId, nowMs, remainingMs, traceparent }) =>
        metrics.partials({
          body,
          caller,
          signal,
          context: { correlationId, nowMs, traceparent },
          remainingMs: readRemaining(remainingMs),
        }),
    },
  ];
}

function readRemaining(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/u.test(text)) return Number(text);
  throw refuseField("invalid_request", "X-Remaining-Ms", "X-Remaining-Ms must be a whole number of milliseconds");
}
