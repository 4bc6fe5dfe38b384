import { afterAll, beforeAll, expect, test } from "vitest";
import { stallMsMax, waitFor } from "../support/wait.ts";
import { OperatorCluster } from "./operator-cluster.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());

/** After so many failures in a row a watch waits for up to half a minute. */
const failuresMin = 8;
const readyMsMax = 5_000;
const lease = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000, callTimeoutMs: 3_000 };

test("an edit at the end of a long outage is Ready within five seconds of the API server", async () => {
  const ns = await cluster.namespace();
  const pod = await cluster.pod(ns, "rt-0");
  const { operator } = await cluster.replica(ns, { runtime: { urls: [pod.url] }, lease });
  await cluster.quota(ns, "desk");
  await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");

  await cluster.kube.stopServer();
  const failed =
    /heliograph_informer_watch_ends_total\{informer="queryclassquotas[^}]*reason="transient"\} (?<times>\d+)/u;
  const failures = async (): Promise<number> =>
    Number(failed.exec(await (await fetch(`${operator.metricsUrl}/metrics`)).text())?.groups?.["times"] ?? 0);
  await waitFor(async () => (await failures()) >= failuresMin, { timeoutMs: 90_000, what: "the watch to wait long" });

  await cluster.kube.startServer();
  const startedMs = performance.now();
  await cluster.quota(ns, "desk", { limits: { maxSeries: 7 } });
  await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
  const durationMs = performance.now() - startedMs;
  console.info(`from the API server's readiness to Ready: ${Math.round(durationMs)} ms`);
  expect(durationMs).toBeLessThan(readyMsMax + stallMsMax);
}, 180_000);
