import { randomBytes } from "node:crypto";
import { privateRange } from "../cluster/node/network.ts";
import { toolsTag } from "./installation.ts";

/** The metric that the suite asks for, and what its store says of it. */
export const metric = { id: "e2e_temperature", value: 21.5 } as const;

const keyBytes = 32;
const dayMs = 86_400_000;

const securityContext = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};
const podSecurity = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };

interface Program {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly port: number;
  readonly readyPath: string;
}

/** A partner that knows these keys, and a Prometheus that scrapes it. */
export function neighbours(keys: Readonly<Record<string, string>>): object {
  const scrape = {
    job_name: "e2e",
    scrape_interval: "1s",
    honor_labels: true,
    static_configs: [{ targets: ["partner:8080"] }],
  };
  const env = {
    KEYS: Object.entries(keys)
      .map((pair) => pair.join("="))
      .join(","),
  };
  return list([
    ...served({ name: "partner", command: ["node", "/e2e/partner.ts"], env, port: 8080, readyPath: "/ready" }),
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "store" },
      data: { "prometheus.yaml": JSON.stringify({ scrape_configs: [scrape] }) },
    },
    ...served({
      name: "store",
      command: ["prometheus", "--config.file=/config/prometheus.yaml", "--storage.tsdb.path=/data"],
      port: 9090,
      readyPath: "/-/ready",
    }),
  ]);
}

function served({ name, command, env = {}, port, readyPath }: Program): readonly object[] {
  const labels = { app: name };
  const config = name === "store" ? [{ name: "config", configMap: { name } }] : [];
  const container = {
    name,
    image: toolsTag,
    imagePullPolicy: "Never",
    command,
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
    readinessProbe: { httpGet: { path: readyPath, port }, periodSeconds: 1 },
    securityContext,
    volumeMounts: [
      { name: "data", mountPath: "/data" },
      ...config.map((volume) => ({ name: volume.name, mountPath: "/config" })),
    ],
  };
  const volumes = [{ name: "data", emptyDir: {} }, ...config];
  const spec = { securityContext: podSecurity, terminationGracePeriodSeconds: 1, containers: [container], volumes };
  return [
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      // Two partners at once would each report half of the deliveries.
      spec: {
        strategy: { type: "Recreate" },
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { selector: labels, ports: [{ port, targetPort: port }] },
    },
  ];
}

/** The three resources, and the Secret that the partner's key is in. */
export function resources(namespace: string, key: { readonly id: string; readonly secret: string }): object {
  return list([signingSecret(key), partner(namespace, [key.id]), catalog, quota]);
}

/** The Secret of one signing key. */
export function signingSecret({ id, secret }: { readonly id: string; readonly secret: string }): object {
  return { apiVersion: "v1", kind: "Secret", metadata: { name: `signing-${id}` }, stringData: { key: secret } };
}

/** The partner; the first of its keys signs. */
export function partner(
  namespace: string,
  keyIds: readonly string[],
  path = "/webhooks/v1/payout",
): { readonly apiVersion: string; readonly kind: string; readonly metadata: object; readonly spec: object } {
  return {
    apiVersion: "heliograph.dev/v1alpha1",
    kind: "WebhookPartner",
    metadata: { name: "partner" },
    spec: {
      endpoint: { url: `http://partner.${namespace}.svc.cluster.local:8080${path}`, timeoutSeconds: 5 },
      signing: { keys: keyIds.map((id) => ({ id, secretRef: { name: `signing-${id}`, key: "key" } })) },
      subscriptions: [{ name: "payouts", types: ["payout.*"], tenants: ["lumen"] }],
      networks: { allowCidrs: [privateRange], allowPlaintext: true },
    },
  };
}

/**
 * A partner at a port that nothing serves, and its signing key. Each delivery is attempted once: the first retry is an
 * hour later.
 *
 * @param failures after which its circuit breaker opens
 */
export function unreachablePartner(namespace: string, name: string, failures: number): object {
  const { spec, ...rest } = partner(namespace, [name]);
  const endpoint = { url: `http://partner.${namespace}.svc.cluster.local:9/webhooks/v1/payout`, timeoutSeconds: 1 };
  const circuitBreaker = { failures, openSeconds: 600 };
  const retry = { scheduleSeconds: [3600] };
  const secret = randomBytes(keyBytes).toString("hex");
  return list([
    signingSecret({ id: name, secret }),
    { ...rest, metadata: { name }, spec: { ...spec, endpoint, circuitBreaker, retry } },
  ]);
}

/** A partner that selects large payouts and gets them without their account, and its signing key. */
export function selectingPartner(namespace: string, key: { readonly id: string; readonly secret: string }): object {
  const { spec, ...rest } = partner(namespace, [key.id], `/webhooks/kept/${key.id}`);
  const large = {
    name: "large",
    types: ["payout.*"],
    tenants: ["lumen"],
    matchers: [{ pointer: "/data/amount_minor", op: "GreaterThan", value: "1000" }],
    payload: { exclude: ["/data/account"] },
  };
  return list([
    signingSecret(key),
    { ...rest, metadata: { name: "selecting" }, spec: { ...spec, subscriptions: [large] } },
  ]);
}

const stores = [
  { name: "eu", region: "eu", settleSeconds: 30, prometheus: { url: "http://store:9090", timeoutSeconds: 10 } },
];

/** Metric that has one series for each component, with objectives: a correction covers all slices of one of them. */
export const backlog = { id: "e2e_backlog", intake: 7, sender: 2, missing: "e2e_missing" } as const;

/** The catalog of `backlog`, and of a metric of which the store has no series. */
export function backlogCatalog(now: Date): object {
  const gauge = (id: string) => ({
    id,
    category: "infrastructure",
    unit: "events",
    description: "Events of the suite that wait.",
    source: { gauge: { name: id }, intervalSeconds: 1 },
    labels: ["region", "tenant", "environment", "component"],
    aggregations: ["sum", "max"],
    defaultAggregation: "sum",
    queryClass: "A",
  });
  const slo = (name: string, threshold: number) => ({
    name,
    domain: "platform",
    metric: backlog.id,
    objective: 0.99,
    windowDays: 1,
    minimumEvents: 1,
    over: { operator: "AtMost", threshold, sliceSeconds: 60 },
  });
  const midnight = (days: number): string =>
    new Date(now.getTime() + days * dayMs).toISOString().replace(/T.*/u, "T00:00:00Z");
  const { windowDays: _days, ...monthly } = slo("monthly", 10);
  const calendar = { period: "Month", timeZone: "Europe/Berlin" };
  const correction = { reason: "Planned load", from: midnight(-2), to: midnight(2) };
  return {
    apiVersion: "heliograph.dev/v1alpha1",
    kind: "MetricCatalog",
    metadata: { name: "backlog" },
    spec: {
      schemaVersion: "2026-01",
      stores,
      metrics: [gauge(backlog.id), gauge(backlog.missing)],
      slos: [
        slo("within", 10),
        { ...slo("corrected", 5), corrections: [correction] },
        { ...monthly, calendar, over: { ...monthly.over, sliceSeconds: 300 } },
      ],
    },
  };
}

const catalog = {
  apiVersion: "heliograph.dev/v1alpha1",
  kind: "MetricCatalog",
  metadata: { name: "catalog" },
  spec: {
    schemaVersion: "2026-01",
    stores,
    metrics: [
      {
        id: metric.id,
        category: "infrastructure",
        unit: "celsius",
        description: "Temperature of the suite.",
        source: { gauge: { name: metric.id }, intervalSeconds: 1 },
        labels: ["region", "tenant", "environment"],
        aggregations: ["avg", "max"],
        defaultAggregation: "avg",
        queryClass: "A",
      },
    ],
  },
};

const quota = {
  apiVersion: "heliograph.dev/v1alpha1",
  kind: "QueryClassQuota",
  metadata: { name: "quota" },
  spec: {
    class: "A",
    limits: {
      requestsPerSecond: 500,
      burst: 1000,
      costUnitsPerMinute: 10_000_000,
      burstCostUnits: 10_000_000,
      maxConcurrent: 100,
    },
    clients: [{ scope: "metrics:read" }],
  },
};

/** Objects as one. */
export function list(items: readonly object[]): object {
  return { apiVersion: "v1", kind: "List", items };
}
