import type {
  CatalogConfig,
  EventCatalogConfig,
  PartnerConfig,
  QuotaConfig,
  ResourceConfig,
  RuntimeConfig,
} from "./config.ts";
import { materialIdsOf } from "./material.ts";

/** The part of the configuration that one resource gives. */
export type ConfigPart = (
  | { readonly kind: "WebhookPartner"; readonly config: PartnerConfig }
  | { readonly kind: "MetricCatalog"; readonly config: CatalogConfig }
  | { readonly kind: "QueryClassQuota"; readonly config: QuotaConfig }
  | { readonly kind: "EventCatalog"; readonly config: EventCatalogConfig }
) & {
  /** Secret bytes that it needs, by material id, base64. */
  readonly material: Readonly<Record<string, string>>;
};

/** The compiled resources of every kind in a configuration or in one of its shards. */
export function resourcesOf({
  partners,
  catalogs,
  quotas,
  eventCatalogs = [],
}: Pick<RuntimeConfig, "partners" | "catalogs" | "quotas" | "eventCatalogs">): readonly ResourceConfig[] {
  return [...partners, ...catalogs, ...quotas, ...eventCatalogs];
}

/** The parts of a configuration, by the uid of their resource. */
export function partsOf(config: RuntimeConfig): ReadonlyMap<string, ConfigPart> {
  const { partners, catalogs, quotas, eventCatalogs = [], material } = config;
  const bytesOf = (resource: ConfigPart["config"]) =>
    Object.fromEntries(materialIdsOf(resource).map((id) => [id, material[id] ?? ""]));
  const parts: readonly ConfigPart[] = [
    ...partners.map((one) => ({ kind: "WebhookPartner" as const, config: one, material: bytesOf(one) })),
    ...catalogs.map((one) => ({ kind: "MetricCatalog" as const, config: one, material: bytesOf(one) })),
    ...quotas.map((one) => ({ kind: "QueryClassQuota" as const, config: one, material: {} })),
    ...eventCatalogs.map((one) => ({ kind: "EventCatalog" as const, config: one, material: {} })),
  ];
  return new Map(parts.map((part) => [part.config.uid, part]));
}

/** The catalogs of event types among some parts. */
export function eventCatalogsOf(parts: readonly ConfigPart[]): readonly EventCatalogConfig[] {
  return parts.flatMap(({ kind, config }) => (kind === "EventCatalog" ? [config] : []));
}
