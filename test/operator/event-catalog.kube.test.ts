import { isDeepStrictEqual } from "node:util";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { sensitiveFields } from "../../crds/declared-types.ts";
import { waitFor } from "../support/wait.ts";
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
  const advice = "raise `version` of payout.processed, now 2026-01-31";
  expect(message).toBe(`spec.types[0].versions[0].schema: /properties/id/type: type changed; ${advice}`);
  const wider = { type: "object", properties: { id: { type: "string" }, memo: { type: ["string", "null"] } } };
  await cluster.put(ns, "EventCatalog", "payouts", { "types[0].versions[0].schema": wider });
  await cluster.reason(ns, "EventCatalog", "payouts", "Ready", "Ready");
});

test("fields that a class excludes stay excluded when their catalog is deleted, until it is created without them", async () => {
  const ns = await cluster.namespace();
  let pod = await cluster.pod(ns, "rt-0");
  await cluster.replica(ns, { runtime: { urls: [pod.url] } });
  const sensitive = [{ pointer: "/id", class: "financial" }];
  await cluster.put(ns, "EventCatalog", "payouts", { "types[0].sensitive": sensitive });
  await cluster.secret(ns, "partner", { hmac: 1 });
  await cluster.put(ns, "WebhookPartner", "acme", { "subscriptions[0].payload": { excludeClasses: ["financial"] } });
  await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
  const applied = (fields: typeof sensitive) =>
    waitFor(() => isDeepStrictEqual(sensitiveFields(pod.config ?? {}).get("payout.processed") ?? [], fields), {
      timeoutMs: 30_000,
      what: `the fields ${JSON.stringify(fields)}`,
    });
  await applied(sensitive);
  await cluster.remove(ns, "EventCatalog", "payouts");
  const { message } = await cluster.reason(ns, "WebhookPartner", "acme", "TypesResolved", "ClassNotDeclared");
  expect(message).toContain(`/id of payout.processed (class financial in EventCatalog ${ns}/payouts)`);
  await applied(sensitive);
  // Another leader finds what is left in the shards.
  await cluster.stopAll();
  pod = await cluster.pod(ns, "rt-0");
  await cluster.replica(ns, { runtime: { urls: [pod.url] } });
  await cluster.put(ns, "EventCatalog", "payouts", { "types[0].type": "payout.created", "types[0].sensitive": [] });
  await cluster.reason(ns, "EventCatalog", "payouts", "Ready", "Ready");
  await applied(sensitive);
  await cluster.put(ns, "EventCatalog", "payouts", { "types[0].sensitive": [] });
  await cluster.reason(ns, "EventCatalog", "payouts", "Ready", "Ready");
  await applied([]);
  const { conditions = [] } = (await cluster.object(ns, "WebhookPartner", "acme")).status ?? {};
  expect(conditions.map(({ type }) => type)).not.toContain("TypesResolved");
});
