import { readFileSync } from "node:fs";
import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { createKubernetesMetrics } from "../../../runtime/config/kubernetes/kubernetes-metrics.ts";
import { createRequestMetrics } from "../../../runtime/http/server/request-log.ts";
import { createInstruments, exportCatalogCounts } from "../../../runtime/metrics/api/instruments.ts";
import { Expirations } from "../../../runtime/program/expirations.ts";
import { registerHealthMetrics } from "../../../runtime/program/status.ts";
import { registerNatsMetrics } from "../../../runtime/program/start-engines.ts";
import { createDeliveryMetrics, createPartnerMetrics } from "../../../runtime/webhooks/telemetry/delivery-metrics.ts";
import { dashboardPlans } from "../dashboards/plans.ts";
import { alertsOf, ruleFiles } from "./rule-files.ts";

const page = readFileSync(new URL("../../../docs/how-to/monitoring.md", import.meta.url), "utf8");

/** Cells of the first table below a heading, without the head of the table. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const rows = (section.split("\n## ")[0] ?? "").split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) => row.split(" | ").map((cell) => cell.replaceAll(/^\| | \|$/gu, "").trim()));
}

/** Metrics of a pod, without those of the Node process. */
async function podMetrics(): Promise<readonly (readonly string[])[]> {
  const registry = new Registry();
  createDeliveryMetrics(registry);
  createPartnerMetrics(registry);
  createInstruments(registry);
  exportCatalogCounts(registry, () => []);
  createRequestMetrics(registry);
  createKubernetesMetrics(registry);
  const expirations = new Expirations(registry);
  expirations.addFiles([]);
  registerNatsMetrics(registry, { hasPendingCredentials: () => false });
  registerHealthMetrics(registry, () => []);
  return (await registry.getMetricsAsJSON())
    .map(({ name, help }) => [`\`${name}\``, help.replace(/\.$/u, "")])
    .sort(byName);
}

function byName([one = ""]: readonly string[], [other = ""]: readonly string[]): number {
  return one < other ? -1 : 1;
}

describe("the page about monitoring", () => {
  test("holds every metric of the runtime and no other", async () => {
    expect(rowsBelow("Metrics of the runtime")).toEqual(await podMetrics());
  });

  test("holds every alert with its severity and its page", () => {
    const alerts = ruleFiles().flatMap(({ rules }) => alertsOf(rules));
    const rows = alerts.map(({ alert, labels = {}, annotations = {} }) => {
      const file = annotations["runbook_url"]?.replace("RUNBOOKS/", "") ?? "";
      return [`[${alert}](../runbooks/${file})`, labels["severity"]];
    });
    expect(rowsBelow("Alerts")).toEqual(rows);
  });

  test("holds every dashboard", () => {
    expect(rowsBelow("Dashboards").map(([name]) => name)).toEqual(dashboardPlans.map(({ name }) => `\`${name}\``));
  });
});
