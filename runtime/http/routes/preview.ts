import type { PartnersClaim } from "../../config/settings/settings.ts";
import type { Previews } from "../../preview/previews.ts";
import type { Operation } from "../openapi/operation.ts";
import type { Route } from "../server/route.ts";
import { requirePartners } from "./require-partners.ts";

/** `POST /v1/preview` */
const startPreviewOperation: Operation = {
  id: "startPreview",
  tag: "preview",
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
  answers: {
    "200": { description: "The differences of resources; the request has no window of events", schema: "Preview" },
    "202": { description: "The preview is accepted and counts events", schema: "Preview" },
  },
};

/** `GET /v1/preview/:id` */
const readPreviewOperation: Operation = {
  id: "readPreview",
  tag: "preview",
  summary: "Progress and result of a preview; kept for a day",
  parameters: [{ name: "id", in: "path", description: "Preview id", schema: { type: "string", minLength: 1 } }],
  answers: { "200": { description: "The preview", schema: "Preview" } },
};

/** Largest edit of one request. */
export const previewBytesMax = 4 * 1024 * 1024;

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
      answer: async ({ body, caller }) => {
        const preview = await previews.start(body, caller);
        return { status: preview.status === "completed" ? 200 : 202, body: preview };
      },
    },
    {
      method: "GET",
      path: "/v1/preview/:id",
      scopes,
      operation: readPreviewOperation,
      answer: async ({ path, caller }) => ({ status: 200, body: await previews.get(path["id"] ?? "", caller) }),
    },
  ];
  return partnersClaim === "Required" ? routes.map(requirePartners) : routes;
}
