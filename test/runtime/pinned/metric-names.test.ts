import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createKubeMetrics } from "../../../kube/metrics.ts";
import { createOperatorMetrics, registerConditionMetrics } from "../../../operator/metrics.ts";
import { createKubernetesMetrics } from "../../../runtime/config/kubernetes/kubernetes-metrics.ts";
import { createRequestMetrics } from "../../../runtime/http/server/request-metrics.ts";
import { createInstruments } from "../../../runtime/metrics/telemetry/instruments.ts";
import { createDeliveryMetrics } from "../../../runtime/webhooks/telemetry/delivery-metrics.ts";
import { createPartnerMetrics } from "../../../runtime/webhooks/telemetry/partner-metrics.ts";
import { sourceFiles } from "../../architecture/source-imports.ts";

/** Dashboards and alerts of every installation name these. */

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** One line for each metric: program, type, name and labels. */
function linesOf(program: string, registry: Registry): readonly string[] {
  const metrics = registry.getMetricsAsArray() as unknown as readonly {
    readonly name: string;
    readonly type: string;
    readonly labelNames?: readonly string[];
  }[];
  return metrics.map(
    ({ name, type, labelNames = [] }) => `${program} ${type} ${name}{${labelNames.toSorted().join()}}`,
  );
}

function runtimeMetrics(): Registry {
  const registry = new Registry();
  createKubernetesMetrics(registry);
  createRequestMetrics(registry);
  createInstruments(registry);
  createDeliveryMetrics(registry);
  createPartnerMetrics(registry);
  return registry;
}

function operatorMetrics(): Registry {
  const registry = new Registry();
  createOperatorMetrics(registry);
  registerConditionMetrics(registry, () => []);
  createKubeMetrics(registry);
  return registry;
}

const lines = [...linesOf("runtime", runtimeMetrics()), ...linesOf("operator", operatorMetrics())].toSorted();

test("metrics and their labels have these names", () => {
  const file = fileURLToPath(new URL("metric-names.txt", import.meta.url));
  expect(lines).toEqual(readFileSync(file, "utf8").trimEnd().split("\n"));
});

test("every metric that is made anywhere is among them", () => {
  const made = sourceFiles(root, ["kube", "operator", "runtime"]).map((file) =>
    readFileSync(`${root}/${file}`, "utf8"),
  );
  const count = made.flatMap((text) => text.match(/new (?:Counter|Gauge|Histogram|Summary)\(/gu) ?? []).length;
  expect(lines).toHaveLength(count);
});
