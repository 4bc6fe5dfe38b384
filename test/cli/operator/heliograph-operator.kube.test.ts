import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { leaseType, type Lease } from "../../../kube/lease/lease-record.ts";
import { exitCodes } from "../../../cli/operator/help.ts";
import { freePort } from "../../support/free-port.ts";
import { startServerProcess, type ServerProcess } from "../../support/server-process.ts";
import { stallMsMax, waitFor } from "../../support/wait.ts";
import { counts, OperatorCluster } from "../../operator/operator-cluster.ts";
import type { TestPod } from "../../operator/test-pod.ts";

const program = fileURLToPath(new URL("../../../cli/operator/heliograph-operator.ts", import.meta.url));
const patience = { timeoutMs: 60_000 };

let cluster: OperatorCluster;
const running = new Set<ServerProcess>();
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterEach(async () => {
  await Promise.all([...running].map((one) => one.stop()));
  running.clear();
  await cluster.stopAll();
});
afterAll(() => cluster.stop());

/** Starts the program as a process of its own, with the usual times of the Lease, and waits until it is ready. */
async function start(ns: string, pod: TestPod, identity: string): Promise<ServerProcess> {
  const port = await freePort();
  const flags = [
    `--namespace=${ns}`,
    `--runtime-url=${pod.url}`,
    `--metrics-port=${port}`,
    `--identity=${identity}`,
    "--host=127.0.0.1",
  ];
  const shards = [`--shards=${counts.config}`, `--key-shards=${counts.keys}`];
  const server = await startServerProcess({
    name: "heliograph-operator",
    command: process.execPath,
    args: [program, ...flags, ...shards],
    env: { HELIOGRAPH_KUBECONFIG: cluster.kube.kubeconfig },
    ready: async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200,
  });
  running.add(server);
  return server;
}

async function holder(ns: string): Promise<string | undefined> {
  const { spec } = await cluster.client.get<Lease>(leaseType, { namespace: ns, name: "heliograph-operator" });
  return spec?.holderIdentity;
}

/** Two processes, of which `one` leads, and a quota that is Ready. */
async function pair(): Promise<{ ns: string; pod: TestPod; one: ServerProcess; two: ServerProcess }> {
  const ns = await cluster.namespace();
  const pod = await cluster.pod(ns, "rt-0");
  const one = await start(ns, pod, "one");
  await waitFor(async () => (await holder(ns)) === "one", { ...patience, what: "the first to lead" });
  const two = await start(ns, pod, "two");
  await cluster.quota(ns, "desk");
  await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
  return { ns, pod, one, two };
}

/** How long an edit takes from now until the pod applies it. */
async function appliedMs(ns: string, pod: TestPod, queryClass = "B"): Promise<number> {
  const startedMs = performance.now();
  await cluster.quota(ns, "desk", { class: queryClass });
  await waitFor(() => pod.config?.quotas[0]?.class === queryClass, { ...patience, what: "the edit to apply" });
  return performance.now() - startedMs;
}

describe("the program", () => {
  test("says that it is ready in one line, applies edits, and its successor applies the next one no 5 s later after a SIGTERM", async () => {
    const { ns, pod, one } = await pair();
    expect(
      one
        .log()
        .split("\n")
        .filter((line) => line.startsWith('{"ready":true')),
    ).toHaveLength(1);
    // What an edit takes on this machine without a hand-over.
    const usualMs = await appliedMs(ns, pod, "C");
    const startedMs = performance.now();
    await Promise.all([one.stop(), appliedMs(ns, pod)]);
    expect(performance.now() - startedMs - usualMs).toBeLessThan(5_000 + stallMsMax);
    expect(await holder(ns)).toBe("two");
    await cluster.reason(ns, "QueryClassQuota", "desk", "Ready", "Ready");
  });

  test("is followed when it is killed, and the next edit applies within 25 s", async () => {
    const { ns, pod, one } = await pair();
    await one.kill9();
    expect(await appliedMs(ns, pod)).toBeLessThan(25_000 + stallMsMax);
    expect(await holder(ns)).toBe("two");
  });

  const refusals: ReadonlyArray<readonly [string, readonly string[], keyof typeof exitCodes, string]> = [
    ["an unknown flag", ["--shard=1"], "usage", "Unknown option '--shard'"],
    ["a kubeconfig that is not there", ["--kubeconfig=/nowhere/config"], "kubeconfig", "the API server cannot be used"],
    [
      "a policy that is not there",
      ["--policy=/nowhere/policy.yaml"],
      "policy",
      "the policy /nowhere/policy.yaml cannot be used",
    ],
  ];
  test.each(refusals)("ends with a code and a sentence for %s", async (_what, args, exit, sentence) => {
    const child = spawn(process.execPath, [program, ...args], {
      env: { ...process.env, HELIOGRAPH_KUBECONFIG: cluster.kube.kubeconfig },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    const [code] = await once(child, "close");
    expect(text).toContain(sentence);
    expect(code).toBe(exitCodes[exit].code);
  });
});
