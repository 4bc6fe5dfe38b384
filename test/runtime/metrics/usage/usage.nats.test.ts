import { afterEach, expect, test } from "vitest";
import type { UsageAnswer } from "../../../../api/usage.ts";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { createLayout } from "../../../../runtime/nats/layout.ts";
import { createPodMessages } from "../../../../runtime/nats/messages/pod-messages.ts";
import { ensureTopology } from "../../../../runtime/nats/streams/topology.ts";
import { createUsageStream } from "../../../../runtime/nats/streams/usage-stream.ts";
import { type NatsServerHandle, startNatsServer } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { type MetricsServer, metricsServerOver, nowMs, simulated } from "../../http/routes/metrics-server.ts";
import { healthyProbe, startScriptedStore } from "../../stores/scripted-store.ts";
import { testSettings } from "../../webhooks/engine-fixture.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const layout = createLayout(testSettings.streams.prefix);
const timeoutMs = 10_000;

interface Pod {
  readonly handle: NatsConnectionHandle;
  readonly server: MetricsServer;
}

async function startPod(own: string, nats: NatsServerHandle, store: string, names: readonly string[]): Promise<Pod> {
  const handle = await connectNats({ servers: [nats.url] });
  closing.push(() => handle.drain().catch(() => undefined));
  await ensureTopology(handle, testSettings.streams);
  const messages = createPodMessages(handle, layout, own);
  const server = metricsServerOver(
    { eu: store },
    { now: () => nowMs, pods: { ...messages, own, live: () => names }, usage: createUsageStream(handle, layout) },
  );
  closing.push(() => server.close());
  return { handle, server };
}

async function startPods() {
  const nats = await startNatsServer();
  closing.push(() => nats.stop());
  const store = await startScriptedStore(healthyProbe(simulated(() => ({ services: ["a", "b"] }))));
  closing.push(() => store.close());
  const names = ["pod-a", "pod-b"];
  const [one, other] = await Promise.all(names.map((own) => startPod(own, nats, store.url, names)));
  if (one === undefined || other === undefined) throw new Error("two pods start");
  return { nats, one, other };
}

const window = "step=1m&from=2026-01-01T11:00:00Z&to=2026-01-01T12:00:00Z";
const query = (tenant: string): string =>
  `/v1/metrics/query?metric=lag&filter[tenant]=${tenant}&group_by=service&${window}`;

async function usageOf({ server }: Pod, search = "", token = "usage"): Promise<UsageAnswer> {
  const answer = await server.get(`/v1/metrics/usage?${search}`, { authorization: `Bearer ${token}` });
  expect(answer.status).toBe(200);
  return answer.json() as UsageAnswer;
}

async function untilRequests(pod: Pod, requests: number): Promise<void> {
  const isThere = async (): Promise<boolean> => (await usageOf(pod)).meta.total.requests === requests;
  await waitFor(isThere, { timeoutMs, what: `usage of ${requests} requests` });
}

async function send({ server }: Pod, tenant: string, count: number) {
  let bytes = 0;
  let cost = 0;
  for (let index = 0; index < count; index += 1) {
    const answer = await server.get(query(tenant));
    expect(answer.status).toBe(200);
    bytes += answer.bytes.length;
    cost += Number(answer.headers["x-query-cost"]);
  }
  return { bytes, cost };
}

test("a pod that is killed loses at most its last seconds, one that stops loses nothing, and nothing counts twice", async () => {
  const { one, other } = await startPods();
  const sent = [await send(one, "brand-a", 4), await send(other, "brand-a", 3)];
  const bytes = sent.reduce((sum, own) => sum + own.bytes, 0);
  const cost = sent.reduce((sum, own) => sum + own.cost, 0);
  expect(cost).toBeGreaterThan(0);
  await untilRequests(other, 7);
  const { data, meta } = await usageOf(other, "group_by=client,tenant,metric,class&step=1h");
  expect(data).toMatchObject([
    { client: "test", tenant: "brand-a", metric: "lag", class: "A", requests: 7, bytes, cost, points: 7 * 120 },
  ]);
  expect(meta).toMatchObject({ total: { requests: 7, bytes, cost }, clients: "all", lost_requests: 0 });
  await send(one, "brand-b", 2);
  // As after a kill, nothing more of this pod reaches NATS.
  await one.handle.connection.close();
  await send(other, "brand-b", 5);
  await other.server.stopUsage();
  const { requests } = (await usageOf(other)).meta.total;
  expect(requests).toBeGreaterThanOrEqual(7 + 5);
  expect(requests).toBeLessThanOrEqual(7 + 5 + 2);
});

test("usage outlives an outage of NATS and its server, which the route reports", async () => {
  const { nats, one } = await startPods();
  await send(one, "brand-a", 1);
  await untilRequests(one, 1);
  await nats.kill9();
  await send(one, "brand-a", 3);
  const failed = await one.server.get("/v1/metrics/usage", { authorization: "Bearer usage" });
  expect([failed.status, (failed.json() as { readonly code: string }).code]).toEqual([503, "usage_unavailable"]);
  await nats.restart();
  await untilRequests(one, 4);
});

test("a token sees its client, or its tenants, in JSON and as a table", async () => {
  const { one } = await startPods();
  await send(one, "brand-a", 2);
  await send(one, "brand-b", 1);
  await one.server.get(query("brand-a"), { authorization: "Bearer operations" });
  await untilRequests(one, 4);
  const seen = async (token: string) => {
    const { data, meta } = await usageOf(one, "group_by=client,tenant", token);
    return [meta.clients, meta.total.requests, data.map((item) => `${item.client} ${item.tenant} ${item.requests}`)];
  };
  const [a, b, operations] = ["test brand-a 2", "test brand-b 1", "operations brand-a 1"];
  expect(await seen("usage")).toEqual(["all", 4, expect.arrayContaining([a, b, operations])]);
  expect(await seen("usageOfA")).toEqual(["all", 3, expect.arrayContaining([a, operations])]);
  expect(await seen("everyone")).toEqual(["own", 3, expect.arrayContaining([a, b])]);
  expect(await seen("operations")).toEqual(["own", 1, [operations]]);
  const table = await one.server.get("/v1/metrics/usage?group_by=tenant", {
    authorization: "Bearer operations",
    accept: "text/csv",
  });
  const [head, row, ...rest] = table.text.split("\r\n");
  expect(head).toBe("from,to,tenant,requests,points,cached_points,bytes,cost_estimate,cost");
  expect(row).toMatch(/^20[^,]+Z,20[^,]+Z,brand-a,1,120,0,[1-9]\d+,\d+,\d+$/u);
  expect(rest).toEqual([""]);
  expect(JSON.parse(table.headers["x-query-meta"] ?? "")).toMatchObject({ total: { requests: 1 } });
});
