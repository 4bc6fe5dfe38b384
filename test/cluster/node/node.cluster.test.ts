import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../../support/wait.ts";
import type { Forward } from "../cluster.ts";
import { describeOnNode } from "../describe-on-cluster.ts";
import { kubeconfigProvider } from "../kubeconfig.ts";
import { nodeLayout } from "./layout.ts";
import { leftBehind, type MachineSnapshot, machineSnapshot } from "./machine-snapshot.ts";
import { markVariable } from "./namespaces.ts";
import { type NodeCluster, nodeProvider } from "./node-cluster.ts";
import { identify, isAlive, kill9, processesWith, processIds } from "./process-identity.ts";
import { readRecord } from "./record.ts";
import { echoManifests, image, restrictedPod, storedManifests } from "./test-manifests.ts";

const upMsMax = 180_000;
const rolloutTimeout = "--timeout=90s";
const goneTimeoutMs = 15_000;
const commandMsMax = 30_000;

/** Always the same folder, so that a run removes what an earlier one left that was killed. */
const env = { HELIOGRAPH_CLUSTER_HOME: `${nodeLayout().root}-of-node-test` };
const layout = nodeLayout(env);
const provider = nodeProvider(layout);

let before: MachineSnapshot;
let cluster: NodeCluster;
let upMs = 0;

const progress = (): void => undefined;

beforeAll(async () => {
  await provider.down(progress);
  // What is built or unpacked once is no part of what a start takes.
  await provider.up(progress);
  await provider.down(progress);
  before = machineSnapshot(layout.root);
  const startMs = performance.now();
  cluster = await provider.up(progress);
  upMs = performance.now() - startMs;
  console.log(`the cluster was up after ${Math.round(upMs)} ms`);
});

afterAll(async () => {
  await provider.down(progress);
});

/** Runs kubectl and answers what it printed. @throws Error with what it complained about */
async function kubectl(args: readonly string[], stdin?: string): Promise<string> {
  const { code, stdout, stderr } = await cluster.kubectl(args, stdin);
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr.trim()}`);
  return stdout;
}

async function expectNothingLeft(): Promise<void> {
  // Ended processes stay in the list until the machine's first process has taken note of them.
  const gone = (): boolean => Object.keys(leftBehind(before, machineSnapshot(layout.root))).length === 0;
  await waitFor(gone, { timeoutMs: goneTimeoutMs, pollMs: 100, what: "a machine as before" }).catch(() => undefined);
  expect(leftBehind(before, machineSnapshot(layout.root))).toEqual({});
  expect([existsSync(layout.root), existsSync(layout.lock)]).toEqual([false, false]);
}

describeOnNode("a node that is up", () => {
  test("came up in time", () => {
    expect(upMs).toBeLessThan(upMsMax);
  });

  test("is found running by a second up, which starts nothing", async () => {
    const again = await provider.up(progress);
    expect(again.init).toEqual(cluster.init);
  });
});

describeOnNode("pods", () => {
  beforeAll(async () => {
    const here = fileURLToPath(new URL("../echo", import.meta.url));
    const archive = join(layout.root, "echo.tar");
    await cluster.buildImage({ dockerfile: join(here, "Dockerfile"), context: here, tag: image, archive });
    await cluster.loadImage(archive);
    const startMs = performance.now();
    await kubectl(["apply", "--filename=-"], echoManifests());
    await kubectl(["rollout", "status", "deployment/echo", rolloutTimeout]);
    const address = await kubectl(["get", "service", "echo", "--output=jsonpath={.spec.clusterIP}"]);
    // kube-proxy learns of ready pods a moment after the deployment does.
    await waitFor(() => askInside(`http://${address}`, 1), {
      timeoutMs: commandMsMax,
      what: "an answer of the service",
    });
    console.log(`two pods answered ${Math.round(performance.now() - startMs)} ms after they were applied`);
  });

  test("behind a service answer a client in the node's network, each of them", async () => {
    const address = await kubectl(["get", "service", "echo", "--output=jsonpath={.spec.clusterIP}"]);
    const pods = await podNames("app=echo");
    const answered = new Set<string>();
    const everyPod = async (): Promise<boolean> => {
      for (const answer of await askInside(`http://${address}`, 20)) answered.add(answer);
      return answered.size === pods.length;
    };
    await waitFor(everyPod, { timeoutMs: commandMsMax, what: "an answer of each pod" });
    expect([...answered].sort()).toEqual(pods);
    expect(pods).toHaveLength(2);
  });

  test("answer this machine through a forward to their service", async () => {
    const forward = await cluster.forward({ namespace: "default", service: "echo", port: 80 });
    const answer = await askThrough(forward);
    expect(await podNames("app=echo")).toContain(answer);
    await expect(fetch(forward.url)).rejects.toThrow("fetch failed");
  });

  test("that do not exist break each connection through a forward, and not the forward", async () => {
    const forward = await cluster.forward({ namespace: "default", service: "absent", port: 80 });
    await expect(fetch(forward.url)).rejects.toThrow("fetch failed");
    await expect(askThrough(forward)).rejects.toHaveProperty("cause.code", "UND_ERR_SOCKET");
  });

  test("answer through kubectl's port-forward, as of a cluster that is there already", async () => {
    const existing = await kubeconfigProvider(cluster.kubeconfig).up(progress);
    const forward = await existing.forward({ namespace: "default", service: "echo", port: 80 });
    expect(await podNames("app=echo")).toContain(await askThrough(forward));
  });

  test("find each other by the names of services", async () => {
    for (const name of ["echo", "echo.default", "echo.default.svc.cluster.local"]) {
      const ask = `fetch("http://${name}").then((answer) => answer.text()).then(console.log)`;
      const answer = await kubectl(["exec", "deployment/echo", "--", "node", "-e", ask]);
      expect(await podNames("app=echo")).toContain(answer.trim());
    }
  });

  test("show their logs and run commands", async () => {
    const [pod = ""] = await podNames("app=echo");
    expect(await kubectl(["logs", pod])).toMatch(/^listening\n/u);
    expect(await kubectl(["exec", pod, "--", "sh", "-c", "id -u; node --version"])).toBe(`1000\n${process.version}\n`);
  });

  test("of a stateful set keep their volume over a restart, as a user that is not root", async () => {
    await kubectl(["apply", "--filename=-"], storedManifests());
    await kubectl(["rollout", "status", "statefulset/stored", rolloutTimeout]);
    expect(await kubectl(["get", "pvc", "data-stored-0", "--output=jsonpath={.status.phase}"])).toBe("Bound");
    await kubectl(["exec", "stored-0", "--", "sh", "-c", "echo kept > /data/file"]);
    await kubectl(["delete", "pod", "stored-0"]);
    await kubectl(["wait", "--for=create", "pod/stored-0", rolloutTimeout]);
    await kubectl(["wait", "--for=condition=Ready", "pod/stored-0", rolloutTimeout]);
    expect(await kubectl(["exec", "stored-0", "--", "cat", "/data/file"])).toBe("kept\n");
  });

  test("run in a namespace that enforces the restricted standard, which refuses others", async () => {
    await kubectl(["create", "namespace", "strict"]);
    await kubectl(["label", "namespace", "strict", "pod-security.kubernetes.io/enforce=restricted"]);
    await kubectl(["--namespace=strict", "apply", "--filename=-"], restrictedPod({}));
    await kubectl(["--namespace=strict", "wait", "--for=condition=Ready", "pod/strict", rolloutTimeout]);
    const refused = await cluster.kubectl(
      ["--namespace=strict", "apply", "--filename=-"],
      restrictedPod({ name: "lax", privileged: true }),
    );
    expect(refused.stderr).toContain('violates PodSecurity "restricted');
  });

  /** The answers to requests that a program in the node's network makes, each on a connection of its own. */
  async function askInside(url: string, times: number): Promise<readonly string[]> {
    const ask =
      `for (let n = 0; n < ${times}; n++) console.log(await (await fetch("${url}", { headers: { connection: ` +
      `"close" } })).text())`;
    const command = [process.execPath, "--input-type=module", "--eval", ask];
    const { code, stdout, stderr } = await cluster.inCluster(command, { timeoutMs: commandMsMax });
    if (code !== 0) throw new Error(stderr);
    return stdout.trim().split("\n");
  }

  async function askThrough(forward: Forward): Promise<string> {
    try {
      return await (await fetch(forward.url)).text();
    } finally {
      await forward.close();
    }
  }

  async function podNames(selector: string): Promise<readonly string[]> {
    const names = await kubectl(["get", "pods", "--selector", selector, "--output=jsonpath={.items[*].metadata.name}"]);
    return names.split(" ").sort();
  }
});

describeOnNode("a node that ends", () => {
  test("leaves no process, mount, network, control group, link, setting or file", async () => {
    expect(Object.keys(leftBehind(before, machineSnapshot(layout.root))).sort()).toEqual([
      "cgroups",
      "networkNamespaces",
      "processes",
    ]);
    await provider.down(progress);
    expect(isAlive(cluster.init)).toBe(false);
    await expectNothingLeft();
  });

  test("with SIGKILL to each of its processes is started again by the next up", async () => {
    const first = await provider.up(progress);
    const inside = readlinkSync(`/proc/${first.init.pid}/ns/pid`);
    const all = [
      ...processesWith(markVariable, layout.root),
      ...processIds().filter((pid) => pidNamespace(pid) === inside),
    ];
    expect(all.length).toBeGreaterThan(10);
    for (const identity of all.map(identify)) if (identity !== undefined) kill9(identity);
    const second = await provider.up(progress);
    expect(second.init).not.toEqual(first.init);
    const { stdout } = await second.kubectl([
      "get",
      "nodes",
      "--output=jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}",
    ]);
    expect(stdout).toBe("True");
    await provider.down(progress);
    await expectNothingLeft();
  });

  test("half way, because its starter was killed, is removed by down", async () => {
    const starter = startCommand();
    await waitFor(() => readRecord(layout)?.init, { timeoutMs: commandMsMax, what: "the node's first process" });
    starter.kill("SIGKILL");
    await once(starter, "exit");
    const { init } = readRecord(layout) ?? {};
    expect(init !== undefined && isAlive(init)).toBe(true);
    await provider.down(progress);
    await expectNothingLeft();
  });

  test("half way, because its starter was interrupted, is removed by the starter", async () => {
    const starter = startCommand();
    await waitFor(() => readRecord(layout)?.init, { timeoutMs: commandMsMax, what: "the node's first process" });
    starter.kill("SIGINT");
    const [code] = (await once(starter, "exit")) as [number];
    expect(code).toBe(1);
    await expectNothingLeft();
  });

  test("when there is none is no error", async () => {
    await expect(provider.down(progress)).resolves.toBeUndefined();
  });

  function startCommand() {
    const program = fileURLToPath(new URL("../main.ts", import.meta.url));
    return spawn(process.execPath, [program, "up"], {
      env: { ...process.env, ...env, CLUSTER: "node" },
      stdio: "ignore",
    });
  }

  function pidNamespace(pid: number): string | undefined {
    try {
      return readlinkSync(`/proc/${pid}/ns/pid`);
    } catch {
      return undefined;
    }
  }
});
