import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ClusterAccess } from "../../kube/client/credentials.ts";
import { kubeConfigAccess } from "../../kube/client/kube-config.ts";
import { isSoak, runsOf } from "../support/soak.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { loadKubeConfig } from "../kube/load-kube-config.ts";
import { waitFor } from "../support/wait.ts";
import { settledState } from "./expected-state.ts";
import { OperatorCluster, type Replica } from "./operator-cluster.ts";
import type { TestPod } from "./test-pod.ts";

let cluster: OperatorCluster;
let proxy: TcpProxy;
beforeAll(async () => {
  // etcd forgets at once what was before: whoever was away longer cannot just go on.
  cluster = await OperatorCluster.start({ flags: ["--etcd-compaction-interval=1s"] });
  proxy = await startTcpProxy(cluster.kube.url);
});
afterEach(() => cluster.stopAll());
afterAll(async () => {
  await proxy.stop();
  await cluster.stop();
});

const lastsMs = (soakMs: number, everydayMs: number): number => (isSoak ? soakMs : everydayMs);
const settleMs = 90_000;
const usualLease = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000, callTimeoutMs: 3_000 };
const testMs = isSoak ? 1_200_000 : 120_000;

/** The way to the API server that can be cut. */
function throughProxy(): ClusterAccess {
  const config = loadKubeConfig(cluster.kube.kubeconfig);
  config.clusters = config.clusters.map((one) => ({ ...one, server: `https://127.0.0.1:${proxy.port}` }));
  return kubeConfigAccess(() => config);
}

async function installation(
  options: Parameters<OperatorCluster["replica"]>[1] = {},
): Promise<{ ns: string; pod: TestPod; replica: Replica }> {
  const ns = await cluster.namespace();
  const pod = await cluster.pod(ns, "rt-0");
  for (const [index, name] of ["a", "b", "c"].entries()) await cluster.partner(ns, name, index + 1);
  await cluster.put(ns, "MetricCatalog", "metrics");
  const replica = await cluster.replica(ns, { runtime: { urls: [pod.url] }, access: throughProxy(), ...options });
  await settledState(cluster, ns, settleMs);
  return { ns, pod, replica };
}

/** One edit of each sort: another spec, another key, an object gone, one made anew, one that is new. */
async function editAll(ns: string, round: number): Promise<void> {
  await cluster.partner(ns, "a", 1, { "delivery.maxInFlight": 1 + (round % 50) });
  await cluster.secret(ns, "b", { hmac: 100 + (round % 100) });
  await cluster.remove(ns, "WebhookPartner", "c");
  await cluster.partner(ns, "c", 3, { "endpoint.timeoutSeconds": 1 + (round % 50) });
  await cluster.quota(ns, `q-${round % 5}`, { limits: { maxSeries: 1 + (round % 50) } });
}

async function metric({ operator }: Replica, name: string): Promise<number> {
  const text = await (await fetch(`${operator.metricsUrl}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

describe("two replicas with the usual times", () => {
  test(
    "that have nothing to do write nothing but the Lease, and ask less than once a second",
    async () => {
      const { ns, pod, replica } = await installation({ lease: usualLease });
      const standby = await cluster.replica(ns, { runtime: { urls: [pod.url] }, lease: usualLease });
      await waitFor(async () => (await cluster.events(ns, "c")).length > 0, {
        timeoutMs: settleMs,
        what: "the last event",
      });
      const calls = () => [replica, standby].map(({ client }) => client.calls.length);
      const before = calls();
      const idleMs = lastsMs(600_000, 12_000);
      // That nothing happens can only be seen by letting time pass.
      await sleep(idleMs);
      const seen = [replica, standby].flatMap(({ client }, index) => client.calls.slice(before[index]));
      const writes = seen.filter(({ verb }) => !["get", "list", "watch"].includes(verb));
      expect(writes.filter(({ resource }) => !resource.includes("leases"))).toEqual([]);
      expect(writes.length).toBeGreaterThan(0);
      // Of both together; a short look may catch attempts that were tried again.
      expect(seen.length).toBeLessThan(idleMs / 1000 + (isSoak ? 0 : 6));
    },
    testMs,
  );
});

describe("no edit is missed", () => {
  test(
    "while the operator cannot reach the API server and etcd forgets the past",
    async () => {
      const { ns, replica } = await installation();
      proxy.block();
      const awayUntilMs = performance.now() + lastsMs(300_000, 8_000);
      for (let round = 0; performance.now() < awayUntilMs; round += 1) {
        await editAll(ns, round);
        await sleep(500);
      }
      expect(replica.operator.isLeader()).toBe(false);
      proxy.unblock();
      await settledState(cluster, ns, settleMs);
    },
    testMs,
  );

  test(
    "while the API server is away, and when it came back without a memory",
    async () => {
      const { ns, pod, replica } = await installation();
      await editAll(ns, 1);
      await cluster.kube.stopServer();
      const before = pod.config;
      await sleep(lastsMs(300_000, 6_000));
      expect(pod.config).toEqual(before);
      await cluster.kube.startServer();
      await editAll(ns, 2);
      await settledState(cluster, ns, settleMs);
      expect(await metric(replica, "heliograph_informer_watch_ends_total{")).toBeGreaterThan(0);
      await waitFor(() => pod.config?.partners.find(({ name }) => name === "a")?.delivery.maxInFlight === 3, {
        timeoutMs: settleMs,
        what: "the pod to apply",
      });
    },
    testMs,
  );

  test(
    "while every connection is closed again and again, a thousand times in a soak",
    async () => {
      const { ns, replica } = await installation();
      const ended = await metric(replica, "heliograph_informer_watch_ends_total{");
      const cuts = runsOf(1_000);
      for (let cut = 0; cut < cuts; cut += 1) {
        proxy.cut();
        if (cut % 10 === 0) await editAll(ns, cut);
        await sleep(20);
      }
      await settledState(cluster, ns, settleMs);
      const watches = 6;
      expect((await metric(replica, "heliograph_informer_watch_ends_total{")) - ended).toBeGreaterThan(watches);
    },
    testMs,
  );
});
