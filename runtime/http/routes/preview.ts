import type { PartnersClaim } from "../../config/settings/settings.ts";
import type { Previews } from "../../preview/previews.ts";
import { readPreviewOperation, startPreviewOperation } from "../openapi/preview-operations.ts";
import type { Route } from "../server/route.ts";
import { requirePartners } from "./require-partners.ts";

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
