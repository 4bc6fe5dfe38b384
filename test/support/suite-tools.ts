import type { TestProject } from "vitest/node";
import { nodeLayout } from "../cluster/node/layout.ts";
import { machineFacts, nodeProblems } from "../cluster/node/preflight.ts";
import { providerName } from "../cluster/provider.ts";
import { debianServers, findDebianServer, type DebianServerName } from "../tools/debian-server.ts";
import { resolveTool } from "../tools/resolve.ts";
import type { ToolName } from "../tools/tool-table.ts";

const toolsBySuite: Readonly<Record<string, readonly ToolName[]>> = {
  nats: ["nats-server", "cloudevents-client"],
  store: [
    "nats-server",
    "prometheus",
    "promtool",
    "prometheus-client",
    "victoria-metrics",
    "vmalert",
    "thanos",
    "otlp-receiver",
  ],
  kube: [
    "etcd",
    "kube-apiserver",
    "helm",
    "helm4",
    "helm-unittest",
    "helm-docs",
    "kubeconform",
    "kube-score",
    "promtool",
    "resource-health",
    "actionlint",
    "crane",
    "cosign",
  ],
  cluster: ["kubelet", "kubectl", "coredns", "helm", "helm4", "nats-server", "nats-backup", "prometheus"],
};

/**
 * Vitest runs this before a suite's first test: a build takes minutes when nothing is cached yet, which no test's own
 * time limit allows for, and its progress is seen here.
 */
export async function setup(project: TestProject): Promise<void> {
  if (project.name === "cluster" && !(await canRunClusters())) return;
  for (const name of toolsBySuite[project.name] ?? []) await resolveTool(name);
  if (project.name === "store") await unpackDebianServers();
}

/** Their suites are skipped, and counted so, on a machine without apt. */
async function unpackDebianServers(): Promise<void> {
  for (const name of Object.keys(debianServers) as DebianServerName[]) {
    const found = await findDebianServer(name);
    if ("missing" in found) process.stderr.write(`\nSKIPPED: every test that needs ${name}.\n  ${found.missing}\n\n`);
  }
}

/** Says loudly what is skipped, and why. */
async function canRunClusters(): Promise<boolean> {
  const missing = (await providerName()) === "node" ? nodeProblems(machineFacts(nodeLayout())) : [];
  if (missing.length === 0) return true;
  process.stderr.write(
    ["", "SKIPPED: every test that needs a cluster.", ...missing.map((sentence) => `  ${sentence}`), "", ""].join("\n"),
  );
  return false;
}
