import { words } from "../../../api/schema.ts";
import { invalidField } from "../../errors/api-error.ts";
import { peerScope } from "../../metrics/authorization/access.ts";
import { partialRequestBytesMax } from "../../metrics/federation/parse-partial-request.ts";
import type { MetricsApi } from "../../metrics/metrics-api.ts";
import type { Operation } from "../openapi/operation.ts";
import type { Route } from "../server/route.ts";

/** `POST /v1/metrics/partials` */
const partialsOperation: Operation = {
  id: "answerPartials",
  summary:
    "For runtimes of other regions: mergeable partials from this runtime's stores. The token must be bound to a " +
    "client certificate",
  bodySchema: "PartialQuestion",
  responses: {
    "200": {
      description: "The result; series as packed partials, everything else as JSON",
      schema: "PartialAnswer",
      alsoAs: ["application/vnd.heliograph.partials"],
      headers: {
        "X-Store-Warning": {
          description: "True if samples were dropped or a store of the region is missing",
          schema: words(["none", "dropped", "incomplete"]),
        },
      },
    },
  },
};

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
      bodyBytesMax: partialRequestBytesMax,
      handle: ({ body, caller, signal, correlationId, nowMs, remainingMs, traceparent }) =>
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
  throw invalidField("invalid_request", "X-Remaining-Ms", "X-Remaining-Ms must be an integer number of milliseconds");
}
