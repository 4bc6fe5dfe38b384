import type { PartnersClaim } from "../../config/settings/settings.ts";
import { type Caller, usageScope } from "../../metrics/authorization/access.ts";
import type { PreviewCaller } from "../../preview/preview-job.ts";
import type { Previews } from "../../preview/previews.ts";
import { pathParameter, type Operation, type OperationHeader } from "../openapi/operation.ts";
import { requirePartners, type Route } from "../server/route.ts";

/** Since when `events.simulated` is deprecated, as docs/reference/versions.md requires (RFC 9745). */
const deprecation = { Deprecation: `@${Date.parse("2026-11-27") / 1_000}` };
const headers: Readonly<Record<string, OperationHeader>> = {
  Deprecation: {
    description: "Time since which a metric or a member of the response is deprecated (RFC 9745)",
    schema: { type: "string", pattern: "^@[0-9]+$" },
  },
};

/** `POST /v1/preview` */
const startPreviewOperation: Operation = {
  id: "startPreview",
  summary: "The effect of an edit of resources on recorded events and queries, before it is applied",
  bodySchema: "PreviewRequest",
  bodyExample: {
    resources: [
      {
        apiVersion: "heliograph.dev/v1alpha1",
        kind: "QueryClassQuota",
        metadata: { name: "dashboards", namespace: "default" },
        spec: { class: "A" },
      },
    ],
    from: "2026-01-31T00:00:00.000Z",
  },
  responses: {
    "200": {
      description: "Differences of resources, if the request has no window of events",
      schema: "Preview",
      headers,
    },
    "202": { description: "The preview is accepted and counts events", schema: "Preview", headers },
  },
};

/** `GET /v1/preview/:id` */
const readPreviewOperation: Operation = {
  id: "readPreview",
  summary: "Progress and result of a preview; kept for one day",
  parameters: [pathParameter("id", "Preview id")],
  responses: { "200": { description: "The preview", schema: "Preview", headers } },
};

/** Largest edit of one request. */
export const previewBytesMax = 4 * 1024 * 1024;

function withUsage(caller: Caller): PreviewCaller {
  return { ...caller, seesAllUsage: caller.scopes.includes(usageScope) };
}

/** Previews of edits. */
export function previewRoutes(previews: Previews, partnersClaim: PartnersClaim = "Optional"): readonly Route[] {
  const scopes = ["admin:preview"];
  const routes: readonly Route[] = [
    {
      method: "POST",
      path: "/v1/preview",
      scopes,
      operation: startPreviewOperation,
      bodyBytesMax: previewBytesMax,
      handle: async ({ body, caller }) => {
        const preview = await previews.start(body, withUsage(caller));
        return { status: preview.status === "completed" ? 200 : 202, headers: deprecation, body: preview };
      },
    },
    {
      method: "GET",
      path: "/v1/preview/:id",
      scopes,
      operation: readPreviewOperation,
      handle: async ({ path, caller }) => ({
        status: 200,
        headers: deprecation,
        body: await previews.get(path["id"] ?? "", withUsage(caller)),
      }),
    },
  ];
  return partnersClaim === "Required" ? routes.map(requirePartners) : routes;
}
