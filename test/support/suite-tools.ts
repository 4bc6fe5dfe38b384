import type { TestProject } from "vitest/node";
import { resolveTool } from "../tools/resolve.ts";
import type { ToolName } from "../tools/tool-table.ts";

const toolsBySuite: Readonly<Record<string, readonly ToolName[]>> = {
  nats: ["nats-server"],
  store: ["prometheus", "promtool", "victoria-metrics"],
  kube: ["etcd", "kube-apiserver"],
  cluster: ["kubelet", "kubectl", "coredns"],
};

/**
 * Vitest runs this before a suite's first test: a build takes minutes when nothing is cached yet, which no test's own time
 * limit allows for, and its progress is seen here.
 */
export async function setup(project: TestProject): Promise<void> {
  for (const name of toolsBySuite[project.name] ?? []) await resolveTool(name);
}
