import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { createOperatorMetrics, registerConditionMetrics, resourcesShownMax } from "../../operator/metrics.ts";
import type { ResourceObject } from "../../operator/resource-types.ts";
import { version } from "../../operator/version.ts";

const objectOf = (name: string, ready: "True" | "False", type = "Ready"): ResourceObject => ({
  kind: "QueryClassQuota",
  metadata: { name, namespace: "shop", uid: name, generation: 1 },
  spec: {} as ResourceObject["spec"],
  status: { conditions: [{ type, status: ready, reason: "R", message: "", lastTransitionTime: "" }] },
});
async function scrape(objects: readonly ResourceObject[]): Promise<string> {
  const registry = new Registry();
  registerConditionMetrics(registry, () => objects);
  return await registry.metrics();
}

describe("the metrics", () => {
  test("show the version that runs", async () => {
    const registry = new Registry();
    createOperatorMetrics(registry);
    expect(await registry.metrics()).toContain(`heliograph_build_info{version="${version}"} 1`);
  });

  test("have a series for the status of each condition, and only for conditions of ours", async () => {
    const text = await scrape([objectOf("a", "True"), objectOf("b", "False"), objectOf("c", "True", "Audited")]);
    const series = text.split("\n").filter((line) => line.startsWith("heliograph_resource_condition{"));
    expect(series.toSorted()).toEqual([
      'heliograph_resource_condition{kind="QueryClassQuota",namespace="shop",name="a",type="Ready",status="True"} 1',
      'heliograph_resource_condition{kind="QueryClassQuota",namespace="shop",name="b",type="Ready",status="False"} 1',
    ]);
    expect(text).toContain('heliograph_resources{kind="QueryClassQuota",type="Ready",status="False"} 1');
    expect(text).toContain('heliograph_resources{kind="WebhookPartner",type="Ready",status="True"} 0');
  });

  test("count catalogs whose alert rules are not written, by which an alert is judged", async () => {
    const catalogOf = (name: string, written: "True" | "False"): ResourceObject => {
      return { ...objectOf(name, written, "RulesWritten"), kind: "MetricCatalog" };
    };
    const text = await scrape([catalogOf("a", "False"), catalogOf("b", "True")]);
    expect(text).toContain('heliograph_resources{kind="MetricCatalog",type="RulesWritten",status="False"} 1');
  });

  test("forget an object that is gone", async () => {
    const registry = new Registry();
    let objects = [objectOf("a", "True")];
    registerConditionMetrics(registry, () => objects);
    await registry.metrics();
    objects = [];
    expect(await registry.metrics()).not.toContain('name="a"');
  });

  test("are bounded: of too many resources those that are not Ready come first, and all are counted", async () => {
    const ready = Array.from({ length: resourcesShownMax + 5 }, (_, index) => objectOf(`r-${index}`, "True"));
    const text = await scrape([...ready, objectOf("z-broken", "False")]);
    expect(text.split("\n").filter((line) => line.startsWith("heliograph_resource_condition{"))).toHaveLength(
      resourcesShownMax,
    );
    expect(text).toContain('name="z-broken",type="Ready",status="False"} 1');
    expect(text).toContain(
      `heliograph_resources{kind="QueryClassQuota",type="Ready",status="True"} ${resourcesShownMax + 5}`,
    );
  });
});
