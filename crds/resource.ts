import type { EventCatalogSpec } from "./types/event-catalog.ts";
import type { MetricCatalogSpec } from "./types/metric-catalog.ts";
import type { QueryClassQuotaSpec } from "./types/query-class-quota.ts";
import type { kinds } from "./types/schemas.ts";
import type { WebhookPartnerSpec } from "./types/webhook-partner.ts";

/** Group and version of every resource. */
export const apiVersion = "heliograph.dev/v1alpha1";

export type Kind = (typeof kinds)[number];

/** The members of an object's metadata that this program reads. */
export interface ObjectMeta {
  readonly name: string;
  /** @default "default" */
  readonly namespace: string;
  readonly uid?: string;
  readonly generation?: number;
  /** RFC 3339. */
  readonly creationTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface ResourceOf<K extends Kind, Spec> {
  readonly apiVersion: typeof apiVersion;
  readonly kind: K;
  readonly metadata: ObjectMeta;
  /** With every default of the schema. */
  readonly spec: Spec;
}

export type WebhookPartner = ResourceOf<"WebhookPartner", WebhookPartnerSpec>;
export type MetricCatalog = ResourceOf<"MetricCatalog", MetricCatalogSpec>;
export type QueryClassQuota = ResourceOf<"QueryClassQuota", QueryClassQuotaSpec>;
export type EventCatalog = ResourceOf<"EventCatalog", EventCatalogSpec>;
export type Resource = WebhookPartner | MetricCatalog | QueryClassQuota | EventCatalog;
