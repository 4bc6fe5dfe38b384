import type { ResourceResult } from "../../crds/compile/resource-result.ts";

/** The compiled result of a partner without faults. */
export const goodResult: ResourceResult = {
  kind: "WebhookPartner",
  namespace: "shop",
  name: "acme",
  uid: "u-1",
  accepted: { status: true, reason: "Accepted", message: "fine" },
  resolvedRefs: { status: true, reason: "ResolvedRefs", message: "there" },
  problems: [],
  warnings: [],
  ambiguousKeys: [],
};
