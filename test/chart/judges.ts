import { cp } from "node:fs/promises";
import { join } from "node:path";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import type { ToolName } from "../tools/tool-table.ts";
import { chartFolder } from "./values-schema.ts";

const judgeMsMax = 60_000;

/** Lets a program look at something; answers `good`, or what it said against it. */
export async function judged(tool: ToolName, args: readonly string[], cwd = chartFolder): Promise<string> {
  const { code, stdout, stderr } = await run(await resolveTool(tool), args, {
    cwd,
    timeoutMs: judgeMsMax,
    env: { NO_COLOR: "1" },
  });
  return code === 0 ? "good" : `${stdout}\n${stderr}`.trim();
}

/** The values of a recipe: `docs/recipes/values-<name>.yaml`. */
export function recipeFile(name: string): string {
  return join(import.meta.dirname, "..", "..", "docs", "recipes", `values-${name}.yaml`);
}

/** Kinds that other projects define; nothing here knows their schemas. */
export const foreignKinds = [
  "ServiceMonitor",
  "PodMonitor",
  "PrometheusRule",
  "ScaledObject",
  "HTTPRoute",
  "TLSRoute",
  "Certificate",
];

/** Ways to install that differ in what is rendered. */
export const variants: Readonly<Record<string, readonly string[]>> = {
  "as it comes": [],
  "with a cluster of NATS and everything that only needs Kubernetes": [
    "nats.replicas=3",
    "settings.streams.replicas=3",
    "runtime.autoscaling.enabled=true",
    "ingress.enabled=true",
    "ingress.className=traefik",
    "ingress.tlsSecret=tls",
    "monitoring.dashboards.enabled=true",
    "tests.enabled=true",
    "watch.allNamespaces=true",
    "policy.acceptOpenGrants=true",
    "hostUsers=false",
    "revisionHistoryLimit=1",
    "networkPolicy.egressTo[0].ipBlock.cidr=192.0.2.0/24",
    "operator.serviceAccountAnnotations.team=platform",
    ...["operator", "runtime", "nats"].flatMap((part) => [
      `${part}.extraEnv[0].name=TEAM`,
      `${part}.extraEnv[0].value=platform`,
      `${part}.extraVolumes[0].name=more`,
      `${part}.extraVolumes[0].emptyDir.sizeLimit=1Mi`,
      `${part}.extraVolumeMounts[0].name=more`,
      `${part}.extraVolumeMounts[0].mountPath=/more`,
      `${part}.terminationGracePeriodSeconds=90`,
      `${part}.serviceAccountName=own`,
      `${part}.runtimeClassName=gvisor`,
      `${part}.hostAliases[0].ip=192.0.2.1`,
      `${part}.hostAliases[0].hostnames={partner.example.com}`,
      `${part}.dnsConfig.options[0].name=ndots`,
      `${part}.extraEnvFrom[0].configMapRef.name=own`,
      `${part}.startupProbe.failureThreshold=600`,
      `${part}.topologySpreadConstraints[0].maxSkew=1`,
      `${part}.topologySpreadConstraints[0].topologyKey=zone`,
      `${part}.topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway`,
      `${part}.topologySpreadConstraints[0].labelSelector.matchLabels.team=platform`,
    ]),
    "runtime.extraArgs={--log-level=debug}",
    "runtime.autoscaling.behavior.scaleUp.stabilizationWindowSeconds=5",
    "runtime.service.type=LoadBalancer",
    "runtime.service.loadBalancerClass=example.com/internal",
    "runtime.service.externalTrafficPolicy=Local",
    "services.ipFamilyPolicy=SingleStack",
    "services.ipFamilies={IPv4}",
    "ingress.hosts={other.example.com}",
    "nats.service.annotations.team=platform",
    `nats.image.digest=sha256:${"a".repeat(64)}`,
  ],
  "with a NATS elsewhere": [
    "nats.enabled=false",
    "externalNats.url=tls://nats.example.com:4222",
    "externalNats.authSecret=nats-auth",
    "externalNats.tlsSecret=nats-tls",
    "externalNats.clientCertificate=true",
    "watch.namespaces={one,two}",
    "policy.acceptOpenGrants=true",
  ],
  "with everything that needs other definitions": [
    "monitoring.serviceMonitor.enabled=true",
    "monitoring.prometheusRule.enabled=true",
    "runtime.autoscaling.keda.enabled=true",
    "runtime.autoscaling.keda.prometheusUrl=http://prometheus:9090",
    "httpRoute.enabled=true",
    "httpRoute.parentRefs[0].name=gateway",
    "tlsRoute.enabled=true",
    "tlsRoute.parentRefs[0].name=gateway",
    "tlsRoute.hostnames={heliograph.example.com}",
    "certManager.enabled=true",
    "certManager.issuerRef.name=ca",
    "runtime.tls.secret=api-tls",
    "runtime.tls.clientCaSecret=clients",
    "runtime.service.port=443",
    "tests.enabled=true",
    "ingress.enabled=true",
    "ingress.tlsSecret=tls",
  ],
};

/** The manifests of a variant, or of some templates of it. @throws Error with what helm said */
export async function rendered(
  tool: "helm" | "helm4",
  values: readonly string[],
  templates: readonly string[] = [],
): Promise<string> {
  const flags = [
    ...values.flatMap((value) => ["--set", value]),
    ...templates.flatMap((template) => ["--show-only", template]),
  ];
  const { code, stdout, stderr } = await run(
    await resolveTool(tool),
    ["template", "hg", chartFolder, "--namespace", "demo", ...flags],
    { timeoutMs: judgeMsMax },
  );
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** A copy of the chart, for a program that writes into it. */
export async function copiedChart(folder: string): Promise<string> {
  const copy = join(folder, "heliograph");
  await cp(chartFolder, copy, { recursive: true });
  return copy;
}
