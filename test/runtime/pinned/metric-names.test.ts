import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createKubeMetrics } from "../../../kube/metrics.ts";
import {
  createOperatorMetrics,
  registerConditionMetrics,
  registerNamespaceMetrics,
} from "../../../operator/metrics.ts";
import { createKubernetesMetrics } from "../../../runtime/config/kubernetes/kubernetes-metrics.ts";
import { createRequestMetrics } from "../../../runtime/http/server/request-log.ts";
import { createInstruments, exportCatalogCounts } from "../../../runtime/metrics/api/instruments.ts";
import { OtlpExporter } from "../../../runtime/tracing/otlp-exporter.ts";
import { registerHealthMetrics } from "../../../runtime/program/status.ts";
import { registerNatsMetrics } from "../../../runtime/program/start-engines.ts";
import { Expirations } from "../../../runtime/program/expirations.ts";
import { createDeliveryMetrics, createPartnerMetrics } from "../../../runtime/webhooks/telemetry/delivery-metrics.ts";
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
  exportCatalogCounts(registry, () => []);
  createDeliveryMetrics(registry);
  createPartnerMetrics(registry);
  void new Expirations(registry);
  registerNatsMetrics(registry, { hasPendingCredentials: () => false });
  registerHealthMetrics(registry, () => []);
  const source = { service: "s", instance: "i", version: "v" };
  void new OtlpExporter({ endpoint: "http://127.0.0.1:1", source, registry, log: pino({ level: "silent" }) });
  return registry;
}

function operatorMetrics(): Registry {
  const registry = new Registry();
  createOperatorMetrics(registry);
  registerNamespaceMetrics(registry, () => new Map());
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
  const alone = /new (?:Counter|Gauge|Histogram|Summary)\(|createTracedHistogram\(/gu;
  const byHelper = /(?<![\w.])(?:counter|gauge|histogram)\(\s*"/gu;
  const found = made.flatMap((text) => [
    ...(text.match(alone) ?? []),
    ...(text.includes("instrumentsOf(") ? (text.match(byHelper) ?? []) : []),
  ]);
  expect(lines).toHaveLength(found.length);
});
