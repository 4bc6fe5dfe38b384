import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { OperatorCluster } from "./operator-cluster.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());
afterEach(() => cluster.stopAll());

test("an event catalog reaches pods, and an incompatible edit leaves the published one in force", async () => {
  const ns = await cluster.namespace();
  const pod = await cluster.pod(ns, "rt-0");
  await cluster.replica(ns, { runtime: { urls: [pod.url] } });
  await cluster.put(ns, "EventCatalog", "payouts", {});
  await cluster.reason(ns, "EventCatalog", "payouts", "Ready", "Ready");
  expect((await cluster.object(ns, "EventCatalog", "payouts")).status).toMatchObject({ types: 1, versions: 1 });
  const schema = { type: "object", properties: { id: { type: "integer" } } };
  await cluster.put(ns, "EventCatalog", "payouts", { "types[0].versions[0].schema": schema });
  const { message } = await cluster.reason(ns, "EventCatalog", "payouts", "Accepted", "Incompatible");
  expect(message).toBe("spec.types[0].versions[0].schema: /properties/id/type: type changed; raise `version`");
  const wider = { type: "object", properties: { id: { type: "string" }, memo: { type: ["string", "null"] } } };
  await cluster.put(ns, "EventCatalog", "payouts", { "types[0].versions[0].schema": wider });
  await cluster.reason(ns, "EventCatalog", "payouts", "Ready", "Ready");
});
