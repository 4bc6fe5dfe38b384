import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKubeClient } from "../../../kube/client/client.ts";
import { kubeConfigAccess } from "../../../kube/client/kube-config.ts";
import { LeaderElection } from "../../../kube/lease/lease.ts";
import { type Lease, leaseType } from "../../../kube/lease/lease-record.ts";
import { loadKubeConfig } from "../load-kube-config.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { waitFor } from "../../support/wait.ts";
import { type RealApi, log, startRealApi } from "../real-api.ts";

let api: RealApi;
beforeAll(async () => {
  api = await startRealApi();
});
afterAll(() => api.stop());

/** Short enough for a test, in the proportions of the defaults. */
const times = { leaseMs: 3_000, renewDeadlineMs: 2_000, retryMs: 400, callTimeoutMs: 400 };
const patience = { timeoutMs: 60_000, pollMs: 5 };

/** A candidate with a line of its own to the API server, which can be cut for good. */
async function candidate(lease: string, identity: string, own = times) {
  const proxy = await startTcpProxy(api.kube.url);
  const config = loadKubeConfig(api.kube.kubeconfig);
  config.clusters = config.clusters.map((cluster) => ({ ...cluster, server: `https://127.0.0.1:${proxy.port}` }));
  const client = createKubeClient({
    access: kubeConfigAccess(() => config),
    userAgent: `heliograph-operator/${identity}`,
    metrics: api.metrics,
  });
  const spans: Array<{ startedMs: number; endedMs: number }> = [];
  const election = new LeaderElection({
    client,
    lease: { namespace: "default", name: lease },
    identity,
    onStarted: () => void spans.push({ startedMs: performance.now(), endedMs: Number.POSITIVE_INFINITY }),
    onStopped: () => {
      const last = spans.at(-1);
      if (last !== undefined) last.endedMs = performance.now();
    },
    log,
    metrics: api.metrics,
    ...own,
  });
  election.start();
  const leave = async (): Promise<void> => {
    await election.stop();
    await client.close();
  };
  return { election, spans, proxy, leave };
}

describe("leadership on a real API server", () => {
  test("passes on within a moment when the leader stops", async () => {
    // No busy machine takes as long to see that the leader left.
    const long = { ...times, leaseMs: 30_000, renewDeadlineMs: 20_000, callTimeoutMs: 5_000 };
    const one = await candidate("graceful", "one", long);
    await waitFor(() => one.election.isLeader(), { ...patience, what: "one to lead" });
    const two = await candidate("graceful", "two", long);
    await waitFor(() => two.election.leader() === "one", { ...patience, what: "two to see one" });
    const stoppedMs = performance.now();
    await one.leave();
    await waitFor(() => two.election.isLeader(), { ...patience, what: "two to lead" });
    expect(performance.now() - stoppedMs).toBeLessThan(long.leaseMs);
    expect(two.spans[0]?.startedMs).toBeGreaterThanOrEqual(one.spans[0]?.endedMs ?? 0);
    const lease = await api.client.get<Lease>(leaseType, { namespace: "default", name: "graceful" });
    expect(lease.spec).toMatchObject({
      holderIdentity: "two",
      leaseTransitions: 1,
      renewTime: expect.stringMatching(/\.\d{6}Z$/u),
    });
    await two.leave();
    await Promise.all([one.proxy.stop(), two.proxy.stop()]);
  });

  test("passes on when the leader is cut off, after it knows and never before", async () => {
    const one = await candidate("killed", "one");
    await waitFor(() => one.election.isLeader(), { ...patience, what: "one to lead" });
    const two = await candidate("killed", "two");
    await waitFor(() => two.election.leader() === "one", { ...patience, what: "two to see one" });
    await one.proxy.stop();
    await waitFor(() => two.election.isLeader(), { ...patience, what: "two to lead" });
    expect(one.election.isLeader()).toBe(false);
    expect(one.spans[0]?.endedMs).toBeLessThan(two.spans[0]?.startedMs ?? 0);
    await Promise.all([one.leave(), two.leave()]);
    await two.proxy.stop();
  });

  test("goes to exactly one of five that start at once, and to each of them in turn", async () => {
    const all = await Promise.all(["a", "b", "c", "d", "e"].map((identity) => candidate("five", identity)));
    const left = new Set(all);
    while (left.size > 0) {
      const leading = await waitFor(() => [...left].find(({ election }) => election.isLeader()), {
        ...patience,
        what: "one to lead",
      });
      expect([...left].filter(({ election }) => election.isLeader())).toHaveLength(1);
      left.delete(leading);
      await leading.leave();
    }
    const spans = all.flatMap((one) => one.spans).sort((a, b) => a.startedMs - b.startedMs);
    expect(spans).toHaveLength(5);
    expect(spans.slice(1).every(({ startedMs }, index) => startedMs >= (spans[index]?.endedMs ?? 0))).toBe(true);
    await Promise.all(all.map(({ proxy }) => proxy.stop()));
  });
});
