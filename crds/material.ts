import type { CatalogConfig, PartnerConfig, QuotaConfig } from "./config.ts";

/** The ids of all the material that one resource's configuration names, each once. */
export function materialIdsOf(config: PartnerConfig | CatalogConfig | QuotaConfig): readonly string[] {
  return [...new Set("signing" in config ? config.signing.keys.map(({ material }) => material) : [])];
}
