import type { Operation } from "./operation.ts";

/** `POST /v1/preview` */
export const startPreviewOperation: Operation = {
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
export const readPreviewOperation: Operation = {
  id: "readPreview",
  tag: "preview",
  summary: "Progress and result of a preview; kept for a day",
  parameters: [{ name: "id", in: "path", description: "Preview id", schema: { type: "string", minLength: 1 } }],
  answers: { "200": { description: "The preview", schema: "Preview" } },
};
