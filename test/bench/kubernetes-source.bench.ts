import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { pino } from "pino";
import { Registry } from "prom-client";
import type { PartnerConfig, RuntimeConfig } from "../../crds/config.ts";
import { shardCountsDefault, shardNames } from "../../crds/shards/shards.ts";
import { openClusterAccess } from "../../kube/client/cluster-access.ts";
import { KubernetesSource } from "../../runtime/config/kubernetes/kubernetes-source.ts";
import { startShardCluster, type ShardCluster } from "../runtime/config/shard-cluster.ts";
import { configOf, secretOf, shardSecrets } from "../runtime/config/shard-secrets.ts";
import { waitFor } from "../support/wait.ts";

/**
 * How soon an edit of one Secret applies with 32 and 8 of them watched, what the watches cost in memory, and how
 * often an idle pod asks. Reference: how long the API server takes to answer the write itself.
 */
const partnerCount = Number(process.argv[2] ?? 2000);
const edits = Number(process.argv[3] ?? 200);
const idleSeconds = Number(process.argv[4] ?? 60);
const counts = shardCountsDefault;

const cluster = await startShardCluster(counts);
try {
  await measure(cluster);
} finally {
  await cluster.stop();
}

async function measure(at: ShardCluster): Promise<void> {
  const config = manyPartners(configOf({ acme: {} }), partnerCount);
  await at.apply(shardSecrets(config, { counts, token: "t" }).values());
  const registry = new Registry();
  const before = memoryMiB();
  const source = await open(at, registry);
  const after = memoryMiB();
  console.log(`${partnerCount} partners in ${shardNames(counts).length} Secrets`);
  console.log(
    `memory of the source and its watches: heap ${(after.heap - before.heap).toFixed(1)} MiB, resident ` +
      `${(after.resident - before.resident).toFixed(1)} MiB`,
  );
  await measureEdits(at, source, config);
  await measureIdle(registry);
  await source.stop();
}

async function open({ kube, serviceAccountFolder }: ShardCluster, registry: Registry): Promise<KubernetesSource> {
  const { hostname, port } = new URL(kube.url);
  const environment = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  const access = await openClusterAccess({}, { environment, serviceAccountFolder });
  const common = {
    access,
    namespace: access.namespace ?? "",
    prefix: "heliograph",
    counts,
    userAgent: "bench",
    registry,
  };
  return KubernetesSource.open({ ...common, log: pino({ level: "warn" }) }, new AbortController().signal);
}

/** The same partner many times under names of its own; the key is that of the first. */
function manyPartners(config: RuntimeConfig, count: number): RuntimeConfig {
  const [first] = config.partners;
  if (first === undefined) throw new Error("no partner");
  const partner = (index: number): PartnerConfig => ({ ...first, name: `partner-${index}`, uid: `uid-${index}` });
  return { ...config, partners: Array.from({ length: count }, (_, index) => partner(index)) };
}

async function measureEdits(at: ShardCluster, source: KubernetesSource, config: RuntimeConfig): Promise<void> {
  const writes: number[] = [];
  const applied: number[] = [];
  for (let revision = 2; revision < edits + 2; revision += 1) {
    const secret = secretOf(shardSecrets(edited(config, revision), { counts, revision, token: "t" }), "config-00");
    const startedMs = performance.now();
    let appliedMs = 0;
    const end = source.onChange(({ shards }) => {
      if (shards["config-00"]?.revision === revision) appliedMs = performance.now();
    });
    await at.put(secret);
    writes.push(performance.now() - startedMs);
    await waitFor(() => appliedMs > 0, { timeoutMs: 5000, pollMs: 1, what: "the edit to apply" });
    applied.push(appliedMs - startedMs);
    end();
  }
  show("write answered (reference)", writes);
  show("edit applied", applied);
  console.log(`ratio of the medians: ${(quantile(applied, 0.5) / quantile(writes, 0.5)).toFixed(2)}`);
}

function edited(config: RuntimeConfig, revision: number): RuntimeConfig {
  return { ...config, partners: config.partners.map((partner) => ({ ...partner, generation: revision })) };
}

async function measureIdle(registry: Registry): Promise<void> {
  const before = await requestCount(registry);
  const untilMs = performance.now() + idleSeconds * 1000;
  await waitFor(() => performance.now() > untilMs, {
    timeoutMs: idleSeconds * 1000 + 5000,
    pollMs: 1000,
    what: "the idle time",
  });
  const asked = (await requestCount(registry)) - before;
  console.log(`idle: ${asked} requests in ${idleSeconds} s; ${before} since the start`);
}

async function requestCount(registry: Registry): Promise<number> {
  const metric = await registry.getSingleMetric("heliograph_config_api_requests_total")?.get();
  return (metric?.values ?? []).reduce((sum, { value }) => sum + value, 0);
}

function show(what: string, values: readonly number[]): void {
  const [p50, p99] = [0.5, 0.99].map((rank) => quantile(values, rank).toFixed(1));
  console.log(`${what}: p50 ${p50} ms, p99 ${p99} ms, slowest ${Math.max(...values).toFixed(1)} ms`);
}

function quantile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(rank * sorted.length))] ?? Number.NaN;
}

function memoryMiB(): { readonly heap: number; readonly resident: number } {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: (heapUsed + external) / 2 ** 20, resident: rss / 2 ** 20 };
}
