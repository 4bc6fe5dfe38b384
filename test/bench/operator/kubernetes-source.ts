import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { Registry } from "prom-client";
import type { PartnerConfig, RuntimeConfig } from "../../../crds/config.ts";
import { shardCountsDefault, shardNames } from "../../../crds/shards/shards.ts";
import { openClusterAccess } from "../../../kube/client/cluster-access.ts";
import { KubernetesSource } from "../../../runtime/config/kubernetes/kubernetes-source.ts";
import { startShardCluster, type ShardCluster } from "../../runtime/config/shard-cluster.ts";
import { configOf, secretOf, shardSecrets } from "../../runtime/config/shard-secrets.ts";
import { waitFor } from "../../support/wait.ts";
import type { Bench } from "../harness/bench.ts";
import { heldBytes } from "../harness/held-bytes.ts";
import { quantile, type Measured } from "../harness/figures.ts";

const counts = shardCountsDefault;

/**
 * How soon an edit of one Secret applies with all of them watched, what the watches cost in memory, and how often an
 * idle pod asks. Reference: how long the API server takes to answer the write itself.
 */
export async function kubernetesSource(_stage: unknown, bench: Bench): Promise<readonly Measured[]> {
  const cluster = await startShardCluster(counts);
  const [partnerCount, edits, idleSeconds] = bench.isSmall ? [10, 3, 1] : [2_000, 200, 60];
  try {
    const config = manyPartners(configOf({ acme: {} }), partnerCount);
    await cluster.apply(shardSecrets(config, { counts, token: "t" }).values());
    const registry = new Registry();
    const before = await heldBytes();
    const source = await open(cluster, registry);
    const heap = ((await heldBytes()) - before) / 2 ** 20;
    const { writes, applied } = await measureEdits(cluster, source, config, edits);
    const asked = await measureIdle(registry, idleSeconds);
    await source.stop();
    const reference = { name: "the write answered", values: [quantile(writes, 0.5)] };
    const name = `${partnerCount} partners in ${shardNames(counts).length} Secrets`;
    return [
      { name: `${name}: an edit applied, p50`, unit: "ms", values: [quantile(applied, 0.5)], reference },
      { name: `${name}: heap of the source`, unit: "MiB", values: [heap] },
      { name: "requests of an idle source", unit: "a second", values: [asked / idleSeconds] },
    ];
  } finally {
    await cluster.stop();
  }
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

async function measureEdits(
  at: ShardCluster,
  source: KubernetesSource,
  config: RuntimeConfig,
  edits: number,
): Promise<{ readonly writes: readonly number[]; readonly applied: readonly number[] }> {
  const [writes, applied]: [number[], number[]] = [[], []];
  for (let revision = 2; revision < edits + 2; revision += 1) {
    const secret = secretOf(shardSecrets(edited(config, revision), { counts, revision, token: "t" }), "config-00");
    const startedMs = performance.now();
    let appliedMs = 0;
    const end = source.onChange(({ shards }) => {
      if (shards["config-00"]?.revision === revision) appliedMs = performance.now();
    });
    await at.put(secret);
    writes.push(performance.now() - startedMs);
    await waitFor(() => appliedMs > 0, { timeoutMs: 20_000, pollMs: 1, what: "the edit to apply" });
    applied.push(appliedMs - startedMs);
    end();
  }
  return { writes, applied };
}

function edited(config: RuntimeConfig, revision: number): RuntimeConfig {
  return { ...config, partners: config.partners.map((partner) => ({ ...partner, generation: revision })) };
}

async function measureIdle(registry: Registry, seconds: number): Promise<number> {
  const before = await requestCount(registry);
  await sleep(seconds * 1_000);
  return (await requestCount(registry)) - before;
}

async function requestCount(registry: Registry): Promise<number> {
  const metric = await registry.getSingleMetric("heliograph_config_api_requests_total")?.get();
  return (metric?.values ?? []).reduce((sum, { value }) => sum + value, 0);
}
