import type { ResourceResult } from "../../crds/compile/resource-result.ts";

/** What compiling says of a partner that is in order. */
export const goodVerdict: ResourceResult = {
  kind: "WebhookPartner",
  namespace: "shop",
  name: "acme",
  uid: "u-1",
  accepted: { status: true, reason: "Accepted", message: "fine" },
  resolvedRefs: { status: true, reason: "ResolvedRefs", message: "there" },
  problems: [],
  warnings: [],
};
