import { afterAll, beforeAll, expect, test } from "vitest";
import { leaseType } from "../../kube/lease/lease-record.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { waitFor } from "../support/wait.ts";
import { OperatorCluster, prefix } from "./operator-cluster.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());

const namespaceCount = 300;
const namespacesAtOnce = 10;
const leaderMsMax = 60_000;
const getMsMax = 100;
const getsMin = 300;
const getPauseMs = 20;

async function namespaces(): Promise<readonly string[]> {
  const names: string[] = [];
  const make = async (): Promise<void> => {
    while (names.length < namespaceCount) names.push(await cluster.namespace());
  };
  await Promise.all(Array.from({ length: namespacesAtOnce }, make));
  return names;
}

/** Times of GETs of the Lease, over the replica's own connections, in milliseconds. */
async function leaseGets(client: KubeClient, ns: string): Promise<readonly number[]> {
  const tookMs: number[] = [];
  await waitFor(
    async () => {
      const startedMs = performance.now();
      await client.get(leaseType, { namespace: ns, name: `${prefix}-operator` }, { pool: "lease" });
      tookMs.push(performance.now() - startedMs);
      return tookMs.length >= getsMin;
    },
    { timeoutMs: 120_000, pollMs: getPauseMs, what: `${getsMin} answers` },
  );
  return tookMs;
}

test("300 listed namespaces keep nobody from leading, and the Lease from being read", async () => {
  const watched = await namespaces();
  const [ns = ""] = watched;
  let client: KubeClient | undefined;
  const startedMs = performance.now();
  const { operator } = await cluster.replica(ns, { watched, wrapClient: (inner) => (client = inner) });
  await waitFor(() => operator.isLeader(), { timeoutMs: 120_000, what: "the lead" });
  const leaderMs = performance.now() - startedMs;
  if (client === undefined) throw new Error("the replica has no client");
  const tookMs = (await leaseGets(client, ns)).toSorted((one, other) => one - other);
  const medianMs = tookMs[Math.floor(tookMs.length / 2)] ?? Number.NaN;
  console.info(
    `${namespaceCount} namespaces: leader after ${Math.round(leaderMs)} ms, GET of the Lease p50 ` +
      `${medianMs.toFixed(1)} ms`,
  );
  expect(leaderMs).toBeLessThan(leaderMsMax);
  expect(medianMs).toBeLessThan(getMsMax);
}, 300_000);
