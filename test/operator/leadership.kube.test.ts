import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { leaseType, type Lease } from "../../kube/lease/lease-record.ts";
import { waitFor } from "../support/wait.ts";
import { OperatorCluster, type Replica } from "./operator-cluster.ts";
import type { TestPod } from "./test-pod.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());
afterEach(() => cluster.stopAll());

const patience = { timeoutMs: 60_000 };
/** As by default, but tried more often: no busy machine makes a leader lose it. */
const usualLease = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 100, callTimeoutMs: 4_000 };
const shortLease = { leaseMs: 4_000, renewDeadlineMs: 3_000, retryMs: 100, callTimeoutMs: 1_000 };

/** A namespace with a pod and two replicas, of which the first leads. */
async function pair(lease = usualLease): Promise<{ ns: string; pod: TestPod; leader: Replica; standby: Replica }> {
  const ns = await cluster.namespace();
  const pod = await cluster.pod(ns, "rt-0");
  const options = { runtime: { urls: [pod.url] }, lease };
  const leader = await cluster.replica(ns, options);
  await waitFor(() => leader.operator.isLeader(), { ...patience, what: "the first replica to lead" });
  return { ns, pod, leader, standby: await cluster.replica(ns, options) };
}

const writesOf = (replica: Replica) => replica.client.writes().filter(({ resource }) => !resource.includes("leases"));

describe("of two replicas", () => {
  test("one writes; the other watches and compiles, and is ready", async () => {
    const { ns, leader, standby } = await pair();
    await cluster.partner(ns, "acme", 1);
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
    expect(writesOf(leader).length).toBeGreaterThan(0);
    expect(writesOf(standby)).toEqual([]);
    expect((await fetch(`${standby.operator.metricsUrl}/readyz`)).status).toBe(200);
    const metrics = await (await fetch(`${standby.operator.metricsUrl}/metrics`)).text();
    expect(metrics).toContain('leader_election_master_status{name="heliograph-operator"} 0');
    expect(metrics).toMatch(/heliograph_compile_seconds_count [2-9]/u);
  });

  test("the other takes over when the leader dies, and what was published and Ready stays untouched", async () => {
    const { ns, pod, leader, standby } = await pair(shortLease);
    await cluster.partner(ns, "acme", 1);
    await cluster.reason(ns, "WebhookPartner", "acme", "Ready", "Ready");
    const before = await cluster.shards(ns);
    leader.client.kill();
    await waitFor(() => standby.operator.isLeader(), { ...patience, what: "the other to lead" });
    await cluster.partner(ns, "beta", 2);
    await cluster.reason(ns, "WebhookPartner", "beta", "Ready", "Ready");
    expect(pod.config?.partners.map(({ name }) => name)).toEqual(["acme", "beta"]);
    expect(writesOf(standby).filter(({ name }) => name === "acme")).toEqual([]);
    expect((await cluster.shards(ns)).get("keys-00")?.revision).toBeLessThanOrEqual(
      (before.get("keys-00")?.revision ?? 0) + 1,
    );
  });

  test("the other takes over at once when the leader hands over", async () => {
    const { ns, leader, standby } = await pair();
    const startedMs = performance.now();
    await leader.stop();
    await waitFor(() => standby.operator.isLeader(), { ...patience, what: "the other to lead" });
    // Sooner than the lease would have run out.
    expect(performance.now() - startedMs).toBeLessThan(usualLease.leaseMs);
    await cluster.quota(ns, "desk");
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
  });

  test("the leader stops writing when somebody takes its lease", async () => {
    const { ns, leader, standby } = await pair();
    await standby.stop();
    const take = async (): Promise<Lease> => {
      const lease = await cluster.client.get<Lease>(leaseType, { namespace: ns, name: "heliograph-operator" });
      return await cluster.client.replace<Lease>(leaseType, {
        ...lease,
        spec: { ...lease.spec, holderIdentity: "a stranger", leaseDurationSeconds: 3_600 },
      });
    };
    // The leader may renew it between the two.
    await waitFor(take, { ...patience, what: "the lease to be taken" });
    await waitFor(() => !leader.operator.isLeader(), { ...patience, what: "the leader to notice" });
    const before = writesOf(leader).length;
    await cluster.quota(ns, "desk");
    const looks = leader.client.calls.length;
    await waitFor(() => leader.client.calls.length >= looks + 5, { ...patience, what: "some more looks at the lease" });
    expect(writesOf(leader).length).toBe(before);
    await cluster.client.delete(leaseType, { namespace: ns, name: "heliograph-operator" });
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
  });
});
