import { copyFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { shardCountsDefault } from "../../../crds/shards/shards.ts";
import { Informer } from "../../../kube/informer/informer.ts";
import { createKubeMetrics } from "../../../kube/metrics.ts";
import { resourceTypes, type ResourceObject } from "../../../operator/resource-types.ts";
import { loadKubeConfig } from "../../kube/load-kube-config.ts";
import { OperatorCluster } from "../../operator/operator-cluster.ts";
import { freePort } from "../../support/free-port.ts";
import { startProgram } from "../../support/heliograph-process.ts";
import { startNatsServer } from "../../support/nats-server.ts";
import { startServerProcess, type ServerProcess } from "../../support/server-process.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";

/** As docs/reference/operator.md runs it. */
const lean = { NODE_OPTIONS: "--max-semi-space-size=4", MALLOC_ARENA_MAX: "1" };
/** As the program itself does. */
const heapFlag = "--heap-growing-percent=15";
export const ns = "bench";

/** An API server, the compiled operator with a service account as in a pod, and two pods of the runtime on one NATS. */
export interface OperatorStage {
  readonly cluster: OperatorCluster;
  readonly partners: Partners;
  /** What the operator has done so far, and what it holds. */
  costs(): Promise<Costs>;
  stop(): Promise<void>;
}

/** The partners as a client sees them: which generation is Ready since when. */
export class Partners {
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

export interface Costs {
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

/** Starts all of it. @param program of the runtime, compiled; the operator is compiled beside it */
export async function startOperatorStage(program: string): Promise<OperatorStage> {
  const cluster = await OperatorCluster.start();
  const type = { group: "", version: "v1", kind: "Namespace", plural: "namespaces" };
  await cluster.client.create(type, { metadata: { name: ns } });
  const proxy = await startTcpProxy(cluster.kube.url);
  const partners = new Partners(cluster);
  const pods = await startRuntimes(cluster);
  const folder = await temporaryFolder("operator-bench");
  const account = {
    server: `https://127.0.0.1:${proxy.port}`,
    namespace: ns,
    folder: await serviceAccount(cluster, folder.path),
  };
  const { operator, metricsUrl } = await startOperator(program, pods.urls, account);
  return {
    cluster,
    partners,
    costs: () => costs(metricsUrl, proxy),
    stop: async () => {
      await operator.stop();
      await pods.stop();
      await partners.stop();
      await proxy.stop();
      await cluster.stop();
      await folder.remove();
    },
  };
}

interface Pods {
  readonly urls: readonly string[];
  stop(): Promise<void>;
}

async function startRuntimes(cluster: OperatorCluster): Promise<Pods> {
  const nats = await startNatsServer();
  const ports = [await freePort(), await freePort()];
  const common = ["--config=kubernetes", `--namespace=${ns}`, `--kubeconfig=${cluster.kube.kubeconfig}`];
  const own = [`--nats=${nats.url}`, "--port=0", "--host=127.0.0.1", "--log-level=error"];
  const programs = ports.map((port, index) =>
    startProgram(["runtime", ...common, ...own, `--admin-port=${port}`, `--pod-name=rt-${index}`]),
  );
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
  program: string,
  urls: readonly string[],
  account: object,
): Promise<{ readonly operator: ServerProcess; readonly metricsUrl: string }> {
  const port = await freePort();
  const metricsUrl = `http://127.0.0.1:${port}`;
  const options = {
    account,
    namespace: ns,
    watched: [ns],
    runtime: { urls },
    prefix: "heliograph",
    counts: shardCountsDefault,
    lease: { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000, callTimeoutMs: 3_000 },
    identity: "bench",
    host: "127.0.0.1",
    metricsPort: port,
  };
  const script = join(dirname(dirname(dirname(program))), "operator-bench.mjs");
  await writeFile(script, operatorScript(options));
  const operator = await startServerProcess({
    name: "heliograph-operator",
    command: process.execPath,
    args: [heapFlag, script],
    env: lean,
    ready: async () => (await fetch(`${metricsUrl}/readyz`)).status === 200,
  });
  return { metricsUrl, operator };
}
