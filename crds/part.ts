import type { CatalogConfig, PartnerConfig, QuotaConfig, RuntimeConfig } from "./config.ts";
import { materialIdsOf } from "./material.ts";

/** The part of the configuration that one resource gives. */
export type ConfigPart = (
  | { readonly kind: "WebhookPartner"; readonly config: PartnerConfig }
  | { readonly kind: "MetricCatalog"; readonly config: CatalogConfig }
  | { readonly kind: "QueryClassQuota"; readonly config: QuotaConfig }
) & {
  /** Secret bytes that it needs, by material id, base64. */
  readonly material: Readonly<Record<string, string>>;
};

/** The parts of a configuration, by the uid of their resource. */
export function partsOf({ partners, catalogs, quotas, material }: RuntimeConfig): ReadonlyMap<string, ConfigPart> {
  const bytesOf = (config: ConfigPart["config"]) =>
    Object.fromEntries(materialIdsOf(config).map((id) => [id, material[id] ?? ""]));
  const parts: readonly ConfigPart[] = [
    ...partners.map((config) => ({ kind: "WebhookPartner" as const, config, material: bytesOf(config) })),
    ...catalogs.map((config) => ({ kind: "MetricCatalog" as const, config, material: bytesOf(config) })),
    ...quotas.map((config) => ({ kind: "QueryClassQuota" as const, config, material: {} })),
  ];
  return new Map(parts.map((part) => [part.config.uid, part]));
}
