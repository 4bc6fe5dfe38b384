import type { CatalogConfig, PartnerConfig, QuotaConfig } from "../config.ts";

/** What one resource brings into the configuration. */
export type ConfigPart = (
  | { readonly kind: "WebhookPartner"; readonly config: PartnerConfig }
  | { readonly kind: "MetricCatalog"; readonly config: CatalogConfig }
  | { readonly kind: "QueryClassQuota"; readonly config: QuotaConfig }
) & {
  /** Secret bytes that it needs, by material id, base64. */
  readonly material: Readonly<Record<string, string>>;
};
