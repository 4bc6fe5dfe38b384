import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { tlsVersions, tokenBindings } from "../../runtime/config/settings/settings.ts";
import { settingsSchema } from "../../runtime/config/settings/settings-schema.ts";
import { policySchema } from "../../operator/policy/parse-policy.ts";

/** The chart in the checkout. */
export const chartFolder = join(dirname(dirname(import.meta.dirname)), "charts", "heliograph");

type Schema = Readonly<Record<string, unknown>>;

const text = { type: "string" };
const logLevel = { enum: ["debug", "info", "warn", "error"] };
const seconds = (minimum: number): Schema => ({ type: "integer", minimum, maximum: 3600 });
const count = (minimum: number): Schema => ({ type: "integer", minimum, maximum: 1000 });
/** Part of the names of pods, volumes and Services. */
const storeName = { type: "string", pattern: "^[a-z0-9]{0,8}$" };
const quantity = { type: "string", pattern: "^[0-9]+(?:\\.[0-9]+)?(?:[kMGTPE]i?)?$" };
const optionalQuantity = { type: "string", pattern: "^(?:[0-9]+(?:\\.[0-9]+)?(?:[kMGTPE]i?)?)?$" };
const kubernetesNames = {
  type: "array",
  items: { type: "string", pattern: "^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$" },
};
/** What Kubernetes itself checks when it is applied. */
const kubernetesObject = { type: "object" };
const kubernetesObjects = { type: "array", items: { type: "object" } };
/** Kubernetes objects that are told apart by a field. */
const named = (...fields: readonly string[]): Schema => ({
  type: "array",
  items: {
    type: "object",
    required: fields,
    properties: Object.fromEntries(fields.map((field) => [field, { type: "string" }])),
  },
});
const ports = { type: "array", items: { type: "integer", minimum: 1, maximum: 65_535 } };
const digest = { type: "string", pattern: "^(?:sha256:[0-9a-f]{64})?$" };
/** What may change of a probe. */
const probeFields = [
  "initialDelaySeconds",
  "periodSeconds",
  "timeoutSeconds",
  "failureThreshold",
  "successThreshold",
  "terminationGracePeriodSeconds",
];
const probe = {
  type: "object",
  additionalProperties: false,
  patternProperties: { [`^(?:${probeFields.join("|")})$`]: { type: "integer", minimum: 0, maximum: 3600 } },
};
const textMap = { type: "object", additionalProperties: text };
/** Grants of an issuer, as the settings have them. */
const grants = (settingsSchema as IssuerOfSettings).properties.issuers.items.properties.grants;
interface IssuerOfSettings {
  readonly properties: { readonly issuers: { readonly items: { readonly properties: { readonly grants: Schema } } } };
}

/** What cannot be read off the defaults, by the last names of a value's path. */
const known: Readonly<Record<string, Schema>> = {
  fullnameOverride: { type: "string", maxLength: 40, pattern: "^(?:[a-z](?:[-a-z0-9]*[a-z0-9])?)?$" },
  nameOverride: { type: "string", pattern: "^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?$" },
  "image.digest": digest,
  pullPolicy: { enum: ["Always", "IfNotPresent", "Never"] },
  imagePullSecrets: kubernetesNames,
  "watch.namespaces": kubernetesNames,
  "policy.grants": policySchema.properties.grants,
  settings: withoutHead(settingsSchema),
  settingsFiles: textMap,
  "clusterIssuer.audiences": { type: "array", minItems: 1, items: text },
  "clusterIssuer.grants": grants,
  "clusterIssuer.tokenBinding": { enum: tokenBindings },
  "tls.minVersion": { enum: tlsVersions },
  "operator.replicas": count(1),
  "prometheusRules.mode": { enum: ["Disabled", "Write", "Remove"] },
  "prometheusRules.labels": textMap,
  "runtime.replicas": count(0),
  // Deprecated, and accepted as before for one release.
  "runtime.processes": { anyOf: [{ type: "integer", minimum: 1, maximum: 64 }, { enum: ["auto"] }, { type: "null" }] },
  "tracing.endpoint": { type: "string", pattern: "^(?:https?://[^/?#]+(?:/[^?#]*)?)?$" },
  "tracing.ratio": { type: "string", pattern: "^(?:0(?:\\.[0-9]{1,9})?|1(?:\\.0{1,9})?)$" },
  "runtime.memory": { type: "string", pattern: "^(auto|[0-9]{1,6}(Mi|Gi))$" },
  "nats.replicas": { enum: [1, 3] },
  "migration.replicas": { enum: [0, 1, 3] },
  "nats.store": storeName,
  "migration.store": storeName,
  logLevel,
  leaseSeconds: seconds(3),
  leaseRenewSeconds: seconds(2),
  leaseRetrySeconds: seconds(1),
  lastGoodSeconds: { type: "integer", minimum: 0, maximum: 2_592_000 },
  unreadySeconds: seconds(0),
  drainSeconds: seconds(1),
  minReplicas: count(1),
  maxReplicas: count(1),
  targetCPUUtilizationPercentage: { type: "integer", minimum: 1, maximum: 100 },
  // Neither 0 nor 0%, with which no drain ends.
  maxUnavailable: {
    anyOf: [
      { type: "integer", minimum: 1 },
      { type: "string", pattern: "^(?:100|[1-9][0-9]?)%$" },
    ],
  },
  terminationGracePeriodSeconds: { type: ["integer", "null"], minimum: 1, maximum: 3600 },
  revisionHistoryLimit: count(0),
  "service.type": { enum: ["ClusterIP", "NodePort", "LoadBalancer"] },
  syncInterval: { type: "string", pattern: "^(?:always|[0-9]+(?:ms|s|m))$" },
  maxFileStore: optionalQuantity,
  maxMemoryStore: optionalQuantity,
  "persistence.size": quantity,
  "externalNats.url": { type: "string", pattern: "^(?:(?:nats|tls)://[^@]+)?$" },
  "externalNats.ports": ports,
  apiServerPorts: ports,
  "issuerRef.kind": text,
  "tests.cidrs": { type: "array", minItems: 1, items: text },
  hostnames: { type: "array", items: text },
  // It goes into the text of the rules.
  "prometheusRule.runbookUrl": { type: "string", pattern: "^(?:https?://[^\\s\"'#{}]+)?$" },
  "serviceMonitor.interval": { type: "string", pattern: "^[0-9]+(?:ms|s|m|h)$" },
  resources: kubernetesObject,
  podSecurityContext: kubernetesObject,
  containerSecurityContext: kubernetesObject,
  affinity: kubernetesObject,
  tolerations: kubernetesObjects,
  topologySpreadConstraints: kubernetesObjects,
  parentRefs: kubernetesObjects,
  apiFrom: kubernetesObjects,
  metricsFrom: kubernetesObjects,
  egressTo: kubernetesObjects,
  extraObjects: kubernetesObjects,
  extraEnv: named("name"),
  extraVolumes: named("name"),
  extraVolumeMounts: named("name", "mountPath"),
  extraContainers: named("name"),
  extraInitContainers: named("name"),
  extraEnvFrom: kubernetesObjects,
  extraArgs: { type: "array", items: { type: "string", pattern: "^--" } },
  hostAliases: kubernetesObjects,
  dnsConfig: kubernetesObject,
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  "autoscaling.behavior": kubernetesObject,
  serviceAccountName: { type: "string", pattern: "^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)?$" },
  ipFamilyPolicy: { enum: ["", "SingleStack", "PreferDualStack", "RequireDualStack"] },
  ipFamilies: { type: "array", maxItems: 2, uniqueItems: true, items: { enum: ["IPv4", "IPv6"] } },
  externalTrafficPolicy: { enum: ["", "Cluster", "Local"] },
  "ingress.hosts": { type: "array", items: text },
  scrapeTimeout: { type: "string", pattern: "^(?:[0-9]+(?:ms|s|m|h))?$" },
  tlsConfig: kubernetesObject,
  relabelings: kubernetesObjects,
  metricRelabelings: kubernetesObjects,
  dnsPorts: ports,
  nodeSelector: textMap,
  commonLabels: textMap,
  podAnnotations: textMap,
  podLabels: textMap,
  annotations: textMap,
  serviceAccountAnnotations: textMap,
  labels: textMap,
};

/** Schema of the chart's values: what the defaults hold and nothing else. */
function valuesSchema(values: unknown): Schema {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Values of the Heliograph chart",
    ...schemaOf(values, []),
  };
}

function schemaOf(value: unknown, path: readonly string[]): Schema {
  const special = known[path.slice(-2).join(".")] ?? known[path.at(-1) ?? ""];
  if (special !== undefined) return special;
  if (typeof value === "string") return text;
  if (typeof value === "boolean") return { type: "boolean" };
  if (typeof value === "number") return { type: "integer" };
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return objectSchema(value, path);
  throw new Error(`what ${path.join(".")} may hold has to be said in values-schema.ts`);
}

/**
 * Values that the release before did not have, or that have a fallback: an upgrade with --reuse-values leaves them
 * out. A name stands for what is below it too.
 */
const optional = new Set([
  "admissionPolicy",
  "containerSecurityContext",
  "podSecurityContext",
  "hostUsers",
  "revisionHistoryLimit",
  "services",
  "tlsRoute",
  "console",
  "tracing",
  "runtime.tls",
  "migration",
  "monitor",
  "prometheusRules",
  "runbookUrl",
  "processes",
  "memory",
  "tokenBinding",
  "dnsPorts",
  "nats.service",
  "terminationGracePeriodSeconds",
  "resources",
]);

/** Whether a template fails, or a program does not start, when the value is taken out with `null`. */
function isRequired(name: string, value: unknown, path: readonly string[]): boolean {
  const names = [...path, name];
  if (names.some((part, index) => optional.has(part) || optional.has(names.slice(0, index + 1).join("."))))
    return false;
  return typeof value === "object" ? isSection(value) : Boolean(value);
}

const isSection = (value: object | null): boolean =>
  value !== null && !Array.isArray(value) && Object.keys(value).length > 0;

function objectSchema(value: object, path: readonly string[]): Schema {
  // Charts that contain this one set `global`, and `enabled` as its condition.
  const outer = path.length === 0 ? { global: { type: "object" }, enabled: { type: "boolean" } } : {};
  const properties = Object.entries(value).map(([name, inner]) => [name, schemaOf(inner, [...path, name])] as const);
  const required = Object.entries(value).flatMap(([name, inner]) => (isRequired(name, inner, path) ? [name] : []));
  return {
    type: "object",
    additionalProperties: false,
    ...(required.length === 0 ? {} : { required }),
    properties: { ...outer, ...Object.fromEntries(properties) },
  };
}

function withoutHead(schema: object): Schema {
  const { $schema: _draft, title: _title, ...rest } = schema as Schema;
  return rest;
}

/** The schema's file as it should be. */
export function valuesSchemaText(): string {
  const values: unknown = parse(readFileSync(join(chartFolder, "values.yaml"), "utf8"));
  return `${JSON.stringify(valuesSchema(values), undefined, 1)}\n`;
}
