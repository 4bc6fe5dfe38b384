import type { MetricCatalogSpec } from "../../crds/types/metric-catalog.ts";
import type { QueryClassQuotaSpec } from "../../crds/types/query-class-quota.ts";
import type { WebhookPartnerSpec } from "../../crds/types/webhook-partner.ts";
import type { ResourceObject, ResourceStatus, StatusColumns } from "../resource-types.ts";

/** Scheme, then the host and its port, without a user. */
const hostIn = /^[a-z]+:\/\/(?<host>[^/?#@]+)/iu;

/** Values of the columns, from the present spec. */
export function columnsOf({ kind, spec }: Pick<ResourceObject, "kind" | "spec">): StatusColumns {
  switch (kind) {
    case "WebhookPartner": {
      const host = hostIn.exec((spec as WebhookPartnerSpec).endpoint.url)?.groups?.["host"];
      return host === undefined ? {} : { endpointHost: host };
    }
    case "MetricCatalog": {
      const { metrics, stores } = spec as MetricCatalogSpec;
      return { metrics: metrics.length, stores: stores.length };
    }
    case "QueryClassQuota":
      return { clients: (spec as QueryClassQuotaSpec).clients.length };
  }
}

/** Returns true for a status with exactly these columns. */
export function showsColumns(status: ResourceStatus | undefined, columns: StatusColumns): boolean {
  const names = ["installation", "endpointHost", "metrics", "stores", "clients"] as const;
  return names.every((name) => status?.[name] === columns[name]);
}
