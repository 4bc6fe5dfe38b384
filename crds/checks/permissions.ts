import { type Cidr, contains, isMetadata, parseCidr } from "../networks.ts";
import { grantOf, names, type InstallationPolicy, type NamespaceGrant } from "../policy.ts";
import type { ConfigPart } from "../part.ts";
import { producersOf, type PeerConfig, type PrometheusConfig, type SubscriptionConfig } from "../config.ts";
import type { FieldProblem } from "../problem.ts";
import type { Resource } from "../resource.ts";

type Grant = Omit<NamespaceGrant, "namespaces">;

/** Names of a resource beyond the grant of its namespace, and metadata addresses under any grant. */
export function permissionProblems(resource: Resource, policy: InstallationPolicy): readonly FieldProblem[] {
  const grant = grantOf(policy, resource.metadata.namespace);
  switch (resource.kind) {
    case "WebhookPartner":
      return partnerProblems(resource.spec, grant);
    case "MetricCatalog":
      return catalogProblems(resource.spec.stores, resource.spec.metrics, grant);
    case "QueryClassQuota":
      return quotaProblems(resource.spec, grant);
    case "EventCatalog":
      return eventTypeProblems(resource.spec.types, grant);
  }
}

/** The same check for the applied part of a resource, which may differ from its present spec. */
export function partPermissionProblems(
  { kind, config }: ConfigPart,
  policy: InstallationPolicy,
): readonly FieldProblem[] {
  const grant = grantOf(policy, config.namespace);
  switch (kind) {
    case "WebhookPartner":
      return partnerProblems(config, grant);
    case "MetricCatalog":
      return catalogProblems(
        config.stores.map(({ prometheus, peer }) =>
          peer === undefined ? { prometheus: asWritten(prometheus) } : { peer: asWritten(peer) },
        ),
        config.metrics,
        grant,
      );
    case "QueryClassQuota":
      return quotaProblems(config, grant);
    case "EventCatalog":
      return eventTypeProblems(config.types, grant);
  }
}

/** The parts of a partner that a policy restricts. */
interface PartnerNames {
  readonly endpoint: { readonly url: string };
  readonly networks: { readonly allowCidrs: readonly string[]; readonly allowPlaintext: boolean };
  readonly subscriptions: readonly Pick<SubscriptionConfig, "tenants" | "producers" | "selects">[];
}

function partnerProblems({ endpoint, networks, subscriptions }: PartnerNames, grant: Grant): readonly FieldProblem[] {
  return [
    ...metadataUrlProblems("spec.endpoint.url", endpoint.url),
    ...subscriptions.flatMap((one, index) => [
      ...unnamed(grant.tenants, one.tenants, `spec.subscriptions[${index}].tenants`, "tenant"),
      ...unnamed(grant.producers, orEvery(producersOf(one)), `spec.subscriptions[${index}].producers`, "producer"),
    ]),
    ...networks.allowCidrs.flatMap((text, index) => cidrProblems(text, `spec.networks.allowCidrs[${index}]`, grant)),
    ...(networks.allowPlaintext && !grant.plaintext
      ? [problem("spec.networks.allowPlaintext", "the policy does not grant the namespace plain http")]
      : []),
  ];
}

/** The parts of a store that a policy restricts. */
interface StoreNames {
  readonly prometheus?: ServerNames;
  readonly peer?: ServerNames;
}

interface ServerNames {
  readonly url: string;
  readonly auth?: {
    readonly oauth2?: { readonly tokenUrl: string };
    readonly sigv4?: { readonly webIdentity?: { readonly roleArn: string } };
  };
}

function asWritten({ url, auth }: Pick<PeerConfig | PrometheusConfig, "url" | "auth">): ServerNames {
  if (auth?.kind === "awsRole") return { url, auth: { sigv4: { webIdentity: auth } } };
  return { url, auth: auth?.kind === "oauth2" ? { oauth2: auth } : {} };
}

function catalogProblems(
  stores: readonly StoreNames[],
  metrics: readonly MetricName[],
  grant: Grant,
): readonly FieldProblem[] {
  return [...storeProblems(stores, grant), ...metricProblems(metrics, grant)];
}

/** The parts of a metric that a policy restricts. */
interface MetricName {
  readonly id: string;
}

/** A metric id belongs to one catalog of the installation: without this a namespace could take another's. */
function metricProblems(metrics: readonly MetricName[], grant: Grant): readonly FieldProblem[] {
  const isGranted = prefixMatcher(grant.metrics);
  return metrics.flatMap(({ id }, index) =>
    isGranted(id)
      ? []
      : [problem(`spec.metrics[${index}].id`, `the policy does not grant the namespace the metric ${id}`)],
  );
}

/** A type belongs to one catalog of the installation, as a metric does. */
/** Tests if the policy lets a namespace declare an event type. */
export function declarableTypes(policy: InstallationPolicy, namespace: string): (type: string) => boolean {
  return prefixMatcher(grantOf(policy, namespace).eventTypes);
}

function eventTypeProblems(types: readonly { readonly type: string }[], grant: Grant): readonly FieldProblem[] {
  const isGranted = prefixMatcher(grant.eventTypes);
  return types.flatMap(({ type }, index) =>
    isGranted(type)
      ? []
      : [problem(`spec.types[${index}].type`, `the policy does not grant the namespace the event type ${type}`)],
  );
}

/** Matches names of a list, in which a last `*` is any ending. */
function prefixMatcher(granted: readonly string[]): (name: string) => boolean {
  const exact = new Set(granted);
  const prefixes = granted.flatMap((name) => (name.endsWith("*") ? [name.slice(0, -1)] : []));
  return (name) => exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}

function storeProblems(stores: readonly StoreNames[], grant: Grant): readonly FieldProblem[] {
  return stores.flatMap(({ prometheus, peer }, index) => {
    const { url = "" } = prometheus ?? peer ?? {};
    const { tokenUrl } = (prometheus ?? peer)?.auth?.oauth2 ?? {};
    const at = `spec.stores[${index}].${prometheus === undefined ? "peer" : "prometheus"}`;
    return [
      ...storeUrlProblems(`${at}.url`, url, grant),
      ...(tokenUrl === undefined ? [] : storeUrlProblems(`${at}.auth.oauth2.tokenUrl`, tokenUrl, grant)),
      ...roleProblems(prometheus, `${at}.auth.sigv4.webIdentity.roleArn`, grant),
    ];
  });
}

function roleProblems(store: ServerNames | undefined, field: string, grant: Grant): readonly FieldProblem[] {
  const { roleArn } = store?.auth?.sigv4?.webIdentity ?? {};
  return roleArn === undefined ? [] : unnamed(grant.awsRoles, [roleArn], field, "AWS role");
}

function storeUrlProblems(field: string, url: string, { storeHosts }: Grant): readonly FieldProblem[] {
  const host = plainHost(hostOf(url));
  const granted = storeHosts.map((name) => plainHost(name));
  const isNamed = names(granted, host) || granted.some((suffix) => isBelow(host, suffix));
  const unnamedHost = isNamed ? [] : [problem(field, `the policy does not grant the namespace the store host ${host}`)];
  return [...metadataUrlProblems(field, url), ...unnamedHost];
}

interface QuotaNames {
  readonly clients: readonly { readonly clientId?: string; readonly scope?: string }[];
}

function quotaProblems({ clients }: QuotaNames, grant: Grant): readonly FieldProblem[] {
  if (clients.length === 0) return unnamed(grant.clients, ["*"], "spec.clients", "client");
  return clients.flatMap(({ clientId, scope }, index) => [
    ...(clientId === undefined ? [] : unnamed(grant.clients, [clientId], `spec.clients[${index}].clientId`, "client")),
    ...(scope === undefined ? [] : unnamed(grant.clients, [scope], `spec.clients[${index}].scope`, "scope")),
  ]);
}

/** An empty list restricts nothing, so it stands for `*`. */
export function orEvery(list: readonly string[]): readonly string[] {
  return list.length === 0 ? ["*"] : list;
}

function unnamed(
  granted: readonly string[],
  requested: readonly string[],
  field: string,
  noun: string,
): readonly FieldProblem[] {
  return requested
    .filter((name) => !names(granted, name))
    .map((name) =>
      problem(
        field,
        `the policy does not grant the namespace ${name === "*" ? `every ${noun}` : `the ${noun} ${name}`}`,
      ),
    );
}

function cidrProblems(text: string, field: string, grant: Grant): readonly FieldProblem[] {
  const cidr = parseCidr(text);
  if (cidr === undefined) return [];
  if (isMetadata(cidr)) return [problem(field, "addresses of instance metadata are never allowed")];
  const isGranted = grant.cidrs.map(parseCidr).some((outer) => outer !== undefined && contains(outer, cidr));
  return isGranted ? [] : [problem(field, `the policy does not grant the namespace ${text}`)];
}

function metadataUrlProblems(field: string, url: string): readonly FieldProblem[] {
  const address = addressOf(hostOf(url));
  const isForbidden = address !== undefined && isMetadata(address);
  return isForbidden ? [problem(field, "addresses of instance metadata are never allowed")] : [];
}

/** The address of a host that is a literal. */
export function addressOf(host: string): Cidr | undefined {
  return parseCidr(`${host}/32`) ?? parseCidr(`${host.replace(/^\[|\]$/gu, "")}/128`);
}

/** The host of a URL that the rules accept, lowercase, in the brackets of an IPv6 address. */
export function hostOf(url: string): string {
  return /^https?:\/\/(?<host>\[[^\]]*\]|[^/:?#]*)/u.exec(url)?.groups?.["host"]?.toLowerCase() ?? "";
}

/** A host in one spelling: an IPv6 address in its shortest form with brackets, which grants may leave out. */
function plainHost(host: string): string {
  if (!host.includes(":")) return host;
  return URL.parse(`http://${host.startsWith("[") ? host : `[${host}]`}`)?.hostname ?? host;
}

function isBelow(host: string, suffix: string): boolean {
  return suffix.startsWith("*.") && host.endsWith(suffix.slice(1));
}

function problem(field: string, message: string): FieldProblem {
  return { field, reason: "NotPermitted", message };
}
