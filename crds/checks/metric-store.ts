import { labelNames } from "../config.ts";
import type {
  MetricCatalogStore,
  MetricCatalogStorePeer,
  MetricCatalogStorePeerAuth,
  MetricCatalogStorePrometheus,
  MetricCatalogStorePrometheusAuth,
  MetricCatalogStorePrometheusAuthSigv4,
} from "../types/metric-catalog.ts";
import { differentNames, noMessageHeader } from "./headers.ts";
import { type PlacedRule, rule, type Rule, rulesAt, unless } from "./cel-rule.ts";
import { urlCharactersRule, urlRules } from "./url.ts";

const governedLabels: ReadonlySet<string> = new Set(labelNames);

/** Lowercase names of headers that every request to a store sets, or that carry what belongs into a Secret. */
const requestHeaders: ReadonlySet<string> = new Set([
  "authorization",
  "content-type",
  "accept",
  "user-agent",
  "cookie",
]);

/** The header that holds the tenant, by flavour. Source: the manuals of Mimir and Thanos. */
const tenantHeaders: Readonly<Partial<Record<MetricCatalogStorePrometheus["flavour"], string>>> = {
  Mimir: "X-Scope-OrgID",
  Thanos: "THANOS-TENANT",
};

/** The header that holds the tenant in requests to this store; undefined for a store without one. */
export function tenantHeaderOf({ tenancy, prometheus }: MetricCatalogStore): string | undefined {
  if (tenancy !== "StoreHeader" || prometheus === undefined) return undefined;
  return prometheus.tenantHeader ?? tenantHeaders[prometheus.flavour];
}

const headerNameRules: readonly Rule<string>[] = [
  rule("this header is reserved: requests to the store set it", (name) => !requestHeaders.has(name.toLowerCase())),
  noMessageHeader,
];

const storeUrlRules: readonly Rule<string>[] = [
  ...urlRules(),
  rule("the URL must not have a query, because the path of the store's API is appended", (url) => !url.includes("?")),
  urlCharactersRule,
];

/** The CEL rules of a catalog's stores. */
export const metricStoreRules: readonly PlacedRule[] = [
  ...rulesAt<MetricCatalogStore>("spec.stores[]", [
    rule(
      "a store must have exactly one of prometheus and peer",
      ({ prometheus, peer }) => (prometheus === undefined) !== (peer === undefined),
    ),
    rule(
      "tenancy and labelMap are not allowed for a peer, which has its own",
      ({ peer, tenancy, labelMap }) =>
        peer === undefined || (tenancy === "Labelled" && Object.keys(labelMap).length === 0),
      ".peer",
    ),
    rule(
      "tenancy StoreHeader requires tenantHeader, because the flavour has no default",
      (store) =>
        store.tenancy !== "StoreHeader" || store.prometheus === undefined || tenantHeaderOf(store) !== undefined,
      ".prometheus.tenantHeader",
    ),
    rule(
      "tenantHeader requires tenancy StoreHeader",
      ({ tenancy, prometheus }) => tenancy === "StoreHeader" || prometheus?.tenantHeader === undefined,
      ".prometheus.tenantHeader",
    ),
    {
      message: "the tenant header must not be one of the fixed headers",
      faults: (store) => {
        const names = (store.prometheus?.headers ?? []).map(({ name }) => name.toLowerCase());
        return unless(!names.includes(tenantHeaderOf(store)?.toLowerCase() ?? ""), ".prometheus.headers");
      },
    },
  ]),
  ...rulesAt<Readonly<Record<string, string>>>("spec.stores[].labelMap", [
    rule("labelMap can only contain governed labels", (map) =>
      Object.keys(map).every((label) => governedLabels.has(label)),
    ),
    rule(
      "no label can map to le, which contains the bounds of histograms",
      (map) => !Object.values(map).includes("le"),
    ),
    rule(
      "labelMap must not map two labels to the same name",
      (map) => new Set(Object.values(map)).size === Object.keys(map).length,
    ),
  ]),
  ...rulesAt<MetricCatalogStorePrometheus>("spec.stores[].prometheus", [
    rule("tls requires an https URL", ({ tls, url }) => tls === undefined || url.startsWith("https:"), ".tls"),
    rule(
      "maxSourceResolution requires the flavour Thanos",
      ({ maxSourceResolution, flavour }) => maxSourceResolution === undefined || flavour === "Thanos",
      ".maxSourceResolution",
    ),
  ]),
  ...["prometheus", "peer"].flatMap((kind) => rulesAt(`spec.stores[].${kind}.url`, storeUrlRules)),
  ...rulesAt<MetricCatalogStorePeer>("spec.stores[].peer", [
    rule(
      "the URL of a peer must be https, because both sides present a certificate",
      ({ url }) => url.startsWith("https:"),
      ".url",
    ),
  ]),
  ...rulesAt<MetricCatalogStorePeerAuth>("spec.stores[].peer.auth", [
    rule(
      "auth must have exactly one of bearer and oauth2",
      ({ bearer, oauth2 }) => (bearer === undefined) !== (oauth2 === undefined),
    ),
  ]),
  ...rulesAt("spec.stores[].prometheus.tenantHeader", headerNameRules),
  ...rulesAt("spec.stores[].prometheus.headers", [differentNames]),
  ...rulesAt("spec.stores[].prometheus.headers[].name", headerNameRules),
  ...rulesAt<MetricCatalogStorePrometheusAuth>("spec.stores[].prometheus.auth", [
    rule(
      "auth must have exactly one of basic, bearer, oauth2 and sigv4",
      ({ basic, bearer, oauth2, sigv4 }) =>
        [basic, bearer, oauth2, sigv4].filter((one) => one !== undefined).length === 1,
    ),
  ]),
  ...rulesAt<MetricCatalogStorePrometheusAuthSigv4>("spec.stores[].prometheus.auth.sigv4", [
    rule(
      "sigv4 must have exactly one of secretRef and webIdentity",
      ({ secretRef, webIdentity }) => (secretRef === undefined) !== (webIdentity === undefined),
    ),
  ]),
];
