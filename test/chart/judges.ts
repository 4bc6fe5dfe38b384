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

/** Ways to install that differ in what is rendered. */
export const variants: Readonly<Record<string, readonly string[]>> = {
  "as it comes": [],
  "with a cluster of NATS and everything that only needs Kubernetes": [
    "nats.replicas=3",
    "settings.streams.replicas=3",
    "runtime.autoscaling.enabled=true",
    "ingress.enabled=true",
    "ingress.className=nginx",
    "ingress.tlsSecret=tls",
    "monitoring.dashboards.enabled=true",
    "tests.enabled=true",
    "watch.allNamespaces=true",
    "policy.acceptOpenGrants=true",
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

/** The manifests of a variant. @throws Error with what helm said */
export async function rendered(tool: "helm" | "helm4", values: readonly string[]): Promise<string> {
  const flags = values.flatMap((value) => ["--set", value]);
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
