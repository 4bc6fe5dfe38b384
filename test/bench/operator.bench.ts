import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { Registry } from "prom-client";
import { shardCountsDefault } from "../../crds/shards/shards.ts";
import { Informer } from "../../kube/informer/informer.ts";
import { createKubeMetrics } from "../../kube/metrics.ts";
import { resourceTypes, type ResourceObject } from "../../operator/resource-types.ts";
import { loadKubeConfig } from "../kube/load-kube-config.ts";
import { writeImageFiles } from "../image/files.ts";
import { OperatorCluster } from "../operator/operator-cluster.ts";
import { TestPod } from "../operator/test-pod.ts";
import { freePort } from "../support/free-port.ts";
import { startProgram, type Program } from "../support/heliograph-process.ts";
import { startNatsServer, type NatsServerHandle } from "../support/nats-server.ts";
import { startServerProcess, type ServerProcess } from "../support/server-process.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";

/**
 * How long it takes until many partners are Ready, and an edit of one is, while others are edited; what that costs the
 * API server and the operator. The operator is a process of its own, compiled as in the image and with a service
 * account as in a pod; so are the two pods of the runtime (`model`: two followers of the shards in this process
 * instead). Reference: how long the API server takes to make the objects, and to answer one edit.
 */
const partnerCount = Number(process.argv[2] ?? 1_000);
const podKind = process.argv[3] ?? "runtime";
const editSeconds = Number(process.argv[4] ?? 30);
const idleSeconds = Number(process.argv[5] ?? 30);
const editsPerSecond = 20;
const callsAtOnce = 8;
const patience = { timeoutMs: 1_200_000, pollMs: 50 };
const root = fileURLToPath(new URL("../..", import.meta.url));
/** As docs/operator.md runs it. */
const lean = {
  NODE_OPTIONS: `--max-semi-space-size=4 ${process.env["BENCH_NODE_OPTIONS"] ?? ""}`.trim(),
  MALLOC_ARENA_MAX: "1",
};
/** As the program itself does. */
const heapFlag = "--heap-growing-percent=15";
const ns = "bench";

interface Stage {
  readonly cluster: OperatorCluster;
  readonly partners: Partners;
  readonly proxy: TcpProxy;
  readonly operator: ServerProcess;
  readonly metricsUrl: string;
}

/** The partners as a client sees them: which generation is Ready since when. */
class Partners {
  readonly #informer: Informer<ResourceObject>;
  readonly #ready = new Map<string, number>();
  readonly #waiting = new Map<string, () => void>();

  constructor({ client }: OperatorCluster) {
    const parts = { client, log: pino({ level: "silent" }), metrics: createKubeMetrics(new Registry()) };
    this.#informer = new Informer<ResourceObject>({ ...parts, type: resourceTypes.WebhookPartner, namespace: ns });
    this.#informer.onChange(({ object: { metadata, status } }) => {
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      if (ready?.status !== "True" || ready.observedGeneration === undefined) return;
      this.#ready.set(metadata.name, ready.observedGeneration);
      for (let generation = ready.observedGeneration; generation > 0; generation -= 1) {
        const key = `${metadata.name}@${generation}`;
        if (!this.#waiting.has(key)) break;
        this.#waiting.get(key)?.();
        this.#waiting.delete(key);
      }
    });
    this.#informer.start();
  }

  get readyCount(): number {
    return this.#ready.size;
  }

  /** Resolves when that generation, or a later one, is Ready. */
  ready(name: string, generation: number): Promise<void> {
    if ((this.#ready.get(name) ?? 0) >= generation) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(`${name}@${generation}`, resolve));
  }

  async stop(): Promise<void> {
    await this.#informer.stop();
  }
}

const nameOf = (index: number): string => `partner-${index}`;

async function make(cluster: OperatorCluster, index: number): Promise<void> {
  await cluster.secret(ns, nameOf(index), { hmac: `${index}`.padEnd(32, "k") });
  await cluster.put(ns, "WebhookPartner", nameOf(index), { "signing.keys[0].secretRef.name": nameOf(index) });
}

async function each(count: number, call: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next; index < count; index = next) {
      next += 1;
      await call(index);
    }
  };
  await Promise.all(Array.from({ length: callsAtOnce }, work));
}

async function measureStart({ cluster, partners, metricsUrl, proxy }: Stage): Promise<void> {
  const [before, startedMs] = [await costs(metricsUrl, proxy), performance.now()];
  await each(partnerCount, (index) => make(cluster, index));
  const madeMs = performance.now() - startedMs;
  await waitFor(() => partners.readyCount === partnerCount, { ...patience, what: "every partner to be Ready" });
  const readyMs = performance.now() - startedMs;
  console.log(
    `${partnerCount} partners and their Secrets made in ${seconds(madeMs)} (reference), all Ready in ` +
      `${seconds(readyMs)}: ratio ${(readyMs / madeMs).toFixed(2)}`,
  );
  const after = await costs(metricsUrl, proxy);
  console.log(`per partner: ${perChange(before, after, partnerCount)}`);
  console.log(`operator: ${memoryText(after)}; ${(after.cpuSeconds - before.cpuSeconds).toFixed(1)} s of a processor`);
}

async function measureEdits({ cluster, partners, metricsUrl, proxy }: Stage): Promise<void> {
  const writes: number[] = [];
  const applied: number[] = [];
  const before = await costs(metricsUrl, proxy);
  const startedMs = performance.now();
  const running: Promise<void>[] = [];
  const total = editSeconds * editsPerSecond;
  for (let edit = 0; edit < total; edit += 1) {
    await sleep(Math.max(0, startedMs + (edit * 1000) / editsPerSecond - performance.now()));
    running.push(measureOne(cluster, partners, edit, { writes, applied }));
  }
  await Promise.all(running);
  const tookSeconds = (performance.now() - startedMs) / 1000;
  const after = await costs(metricsUrl, proxy);
  console.log(`${total} edits at ${editsPerSecond} a second`);
  show("edit answered (reference)", writes);
  show("edit Ready, so applied by every pod", applied);
  console.log(`ratio of the medians: ${(quantile(applied, 0.5) / quantile(writes, 0.5)).toFixed(1)}`);
  console.log(`per edit: ${perChange(before, after, total)}`);
  console.log(
    `sent to the API server: ${((after.bytesSent - before.bytesSent) / tookSeconds / 1e6).toFixed(2)} MB/s; ` +
      `operator: ${memoryText(after)}`,
  );
}

interface Samples {
  readonly writes: number[];
  readonly applied: number[];
}

async function measureOne(
  cluster: OperatorCluster,
  partners: Partners,
  edit: number,
  { writes, applied }: Samples,
): Promise<void> {
  const name = nameOf((edit * 7_919) % partnerCount);
  const startedMs = performance.now();
  const changes = { "signing.keys[0].secretRef.name": name, "delivery.maxInFlight": 1 + (edit % 1_000) };
  const { metadata } = await cluster.put(ns, "WebhookPartner", name, changes);
  writes.push(performance.now() - startedMs);
  await partners.ready(name, metadata.generation);
  applied.push(performance.now() - startedMs);
}

async function measureIdle({ metricsUrl, proxy }: Stage): Promise<void> {
  // Events of the last edits are still to be written.
  await sleep(5_000);
  const before = await costs(metricsUrl, proxy);
  await sleep(idleSeconds * 1000);
  const after = await costs(metricsUrl, proxy);
  console.log(
    `idle: ${((after.requests - before.requests) / idleSeconds).toFixed(2)} requests a second, ` +
      `${after.statuses - before.statuses} statuses and ${after.shards - before.shards} shards written`,
  );
}

interface Costs {
  readonly requests: number;
  readonly statuses: number;
  readonly shards: number;
  readonly events: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly externalBytes: number;
  readonly bytesSent: number;
  readonly cpuSeconds: number;
}

async function costs(metricsUrl: string, proxy: TcpProxy): Promise<Costs> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  const sum = (start: string): number => {
    return text
      .split("\n")
      .filter((line) => line.startsWith(start))
      .reduce((total, line) => total + Number(line.split(" ").at(-1)), 0);
  };
  return {
    requests: sum("rest_client_requests_total{"),
    statuses: sum("heliograph_status_writes_total{"),
    shards: sum("heliograph_shard_writes_total{"),
    events: sum('heliograph_kube_events_total{result="written"}'),
    residentBytes: sum("process_resident_memory_bytes "),
    heapBytes: sum("nodejs_heap_size_used_bytes "),
    externalBytes: sum("nodejs_external_memory_bytes "),
    bytesSent: proxy.bytesSent(),
    cpuSeconds: sum("process_cpu_seconds_total "),
  };
}

function memoryText({ residentBytes, heapBytes, externalBytes }: Costs): string {
  const [resident, heap, external] = [residentBytes, heapBytes, externalBytes].map((bytes) => (bytes / 1e6).toFixed(0));
  return `${resident} MB resident, of it ${heap} MB heap in use and ${external} MB outside it`;
}

function perChange(before: Costs, after: Costs, changes: number): string {
  const per = (name: "statuses" | "shards" | "events" | "requests"): string =>
    ((after[name] - before[name]) / changes).toFixed(2);
  return (
    `${per("statuses")} statuses, ${per("shards")} shards and ${per("events")} events written, ${per("requests")} ` +
    "requests in all"
  );
}

function show(what: string, values: readonly number[]): void {
  const [p50, p99] = [0.5, 0.99].map((rank) => quantile(values, rank).toFixed(0));
  console.log(`${what}: p50 ${p50} ms, p99 ${p99} ms, slowest ${Math.max(...values).toFixed(0)} ms`);
}

function quantile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(rank * sorted.length))] ?? Number.NaN;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

interface Pods {
  readonly urls: readonly string[];
  stop(): Promise<void>;
}

/** Two processes of the runtime on one NATS. */
async function startRuntimes(cluster: OperatorCluster): Promise<Pods> {
  const nats: NatsServerHandle = await startNatsServer();
  const ports = [await freePort(), await freePort()];
  const programs = ports.map((port, index): Program => {
    const flags = [
      "--config=kubernetes",
      `--namespace=${ns}`,
      `--kubeconfig=${cluster.kube.kubeconfig}`,
      `--nats=${nats.url}`,
    ];
    return startProgram([
      "runtime",
      ...flags,
      "--port=0",
      `--admin-port=${port}`,
      "--host=127.0.0.1",
      `--pod-name=rt-${index}`,
      "--log-level=error",
    ]);
  });
  return {
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    stop: async () => {
      for (const one of programs) {
        one.signal("SIGKILL");
        await one.ended();
      }
      await nats.stop();
    },
  };
}

async function startModels({ client }: OperatorCluster): Promise<Pods> {
  const options = { client, namespace: ns, prefix: "heliograph", counts: shardCountsDefault };
  const pods = [await TestPod.start({ ...options, name: "rt-0" }), await TestPod.start({ ...options, name: "rt-1" })];
  return {
    urls: pods.map(({ url }) => url),
    stop: async () => void (await Promise.all(pods.map((pod) => pod.stop()))),
  };
}

/** What Kubernetes mounts into a pod, for the API server of the test. */
async function serviceAccount({ kube }: OperatorCluster, folder: string): Promise<string> {
  await copyFile(kube.caPath, join(folder, "ca.crt"));
  await writeFile(join(folder, "token"), loadKubeConfig(kube.kubeconfig).getCurrentUser()?.token ?? "");
  await writeFile(join(folder, "namespace"), ns);
  return folder;
}

/** The compiled operator, started as its program does. */
function operatorScript({ account, ...options }: { readonly account: object }): string {
  return `
    import { pino } from "pino";
    import { serviceAccountAccess } from "./kube/client/service-account.js";
    import { startOperator } from "./operator/main.js";
    process.on("SIGTERM", () => process.exit());
    const access = serviceAccountAccess(${JSON.stringify(account)});
    await startOperator({ ...${JSON.stringify(options)}, access, log: pino({ level: "warn" }) });`;
}

async function startOperator(
  cluster: OperatorCluster,
  pods: Pods,
  proxy: TcpProxy,
  folder: TemporaryFolder,
): Promise<{ operator: ServerProcess; metricsUrl: string }> {
  await writeImageFiles(root, join(folder.path, "image"));
  const port = await freePort();
  const metricsUrl = `http://127.0.0.1:${port}`;
  const options = {
    account: {
      server: `https://127.0.0.1:${proxy.port}`,
      namespace: ns,
      folder: await serviceAccount(cluster, folder.path),
    },
    namespace: ns,
    watched: [ns],
    runtime: { urls: pods.urls },
    prefix: "heliograph",
    counts: shardCountsDefault,
    lease: { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000, callTimeoutMs: 3_000 },
    identity: "bench",
    host: "127.0.0.1",
    metricsPort: port,
  };
  const script = join(folder.path, "image", "app", "bench.mjs");
  await writeFile(script, operatorScript(options));
  const ready = async (): Promise<boolean> => (await fetch(`${metricsUrl}/readyz`)).status === 200;
  const operator = await startServerProcess({
    name: "heliograph-operator",
    command: process.execPath,
    args: [heapFlag, script],
    env: lean,
    ready,
  });
  return { metricsUrl, operator };
}

const cluster = await OperatorCluster.start();
await cluster.client.create(
  { group: "", version: "v1", kind: "Namespace", plural: "namespaces" },
  { metadata: { name: ns } },
);
const proxy = await startTcpProxy(cluster.kube.url);
const partners = new Partners(cluster);
const pods = podKind === "model" ? await startModels(cluster) : await startRuntimes(cluster);
const folder = await temporaryFolder("operator-bench");
const { operator, metricsUrl } = await startOperator(cluster, pods, proxy, folder);
try {
  const stage: Stage = { cluster, partners, proxy, operator, metricsUrl };
  console.log(
    `two pods (${podKind}), ${shardCountsDefault.config} shards of resources and ${shardCountsDefault.keys} of keys`,
  );
  await measureStart(stage);
  await measureEdits(stage);
  await measureIdle(stage);
} finally {
  await operator.stop();
  await pods.stop();
  await partners.stop();
  await proxy.stop();
  await cluster.stop();
  await folder.remove();
}
