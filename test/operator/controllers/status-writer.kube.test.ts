import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { StatusWriter } from "../../../operator/controllers/status-writer.ts";
import { systemClock } from "../../../limits/clock.ts";
import { createOperatorMetrics } from "../../../operator/metrics.ts";
import type { ResourceObject } from "../../../operator/resource-types.ts";
import { OperatorCluster } from "../operator-cluster.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());

const never = new AbortController().signal;
const clients = (number: number) => ({ observedGeneration: 1, clients: number });

async function scene(): Promise<{ ns: string; writer: StatusWriter; object: ResourceObject }> {
  const ns = await cluster.namespace();
  const writer = new StatusWriter({
    client: cluster.client,
    clock: systemClock,
    metrics: createOperatorMetrics(new Registry()),
  });
  await cluster.quota(ns, "desk");
  return { ns, writer, object: await cluster.object(ns, "QueryClassQuota", "desk") };
}

test("a status is never written to another object of the same name", async () => {
  const { ns, writer, object } = await scene();
  await cluster.remove(ns, "QueryClassQuota", "desk");
  await cluster.quota(ns, "desk");
  await expect(writer.write(object, clients(7), never)).rejects.toMatchObject({ kind: "conflict" });
  expect((await cluster.object(ns, "QueryClassQuota", "desk")).status).not.toHaveProperty("clients");
  await cluster.remove(ns, "QueryClassQuota", "desk");
  await expect(writer.write(object, clients(7), never)).rejects.toMatchObject({ kind: "notFound" });
});

test("a status is written again before the watch has brought the first one back, but not over an edit", async () => {
  const { ns, writer, object } = await scene();
  await writer.write(object, clients(1), never);
  await writer.write(object, clients(2), never);
  expect((await cluster.object(ns, "QueryClassQuota", "desk")).status).toMatchObject({ clients: 2 });
  await cluster.quota(ns, "desk", { class: "C" });
  await expect(writer.write(object, clients(3), never)).rejects.toMatchObject({ kind: "conflict" });
});
