import { secretType } from "../../../../kube/client/resource.ts";
import { pino } from "pino";
import { Registry } from "prom-client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../../crds/config.ts";
import { createKubeClient } from "../../../../kube/client/client.ts";
import { openClusterAccess } from "../../../../kube/client/cluster-access.ts";
import { createKubeMetrics } from "../../../../kube/metrics.ts";
import {
  KubernetesSource,
  type KubernetesSourceOptions,
} from "../../../../runtime/config/kubernetes/kubernetes-source.ts";
import { ShardCopies } from "../../../../runtime/config/kubernetes/shard-copies.ts";
import type { ShardedState } from "../../../../runtime/config/kubernetes/shard-set.ts";
import { startTcpProxy, type TcpProxy } from "../../../support/tcp-proxy.ts";
import { temporaryFolder } from "../../../support/temp-folder.ts";
import { waitFor } from "../../../support/wait.ts";
import { shopNamespace, startShardCluster, type ShardCluster } from "../shard-cluster.ts";
import { configOf, corrupted, fewShards, secretOf, shardSecrets } from "../shard-secrets.ts";

const patience = { timeoutMs: 60_000, pollMs: 2 };
/** Waits as in a pod, but for those that a test would have to sit out. */
const times = { backoff: { baseMs: 50, maxMs: 500, jitter: 0.5 }, copiesAfterMs: 200 };

let cluster: ShardCluster;
let proxy: TcpProxy;
let revision = 0;
let sources: KubernetesSource[];

beforeAll(async () => {
  cluster = await startShardCluster();
  proxy = await startTcpProxy(cluster.kube.url);
});

afterAll(async () => {
  await proxy.stop();
  await cluster.stop();
});

beforeEach(async () => {
  sources = [];
  await write(acme(3));
});

afterEach(async () => {
  for (const source of sources) await source.stop();
});

const acme = (timeoutSeconds: number) => configOf({ acme: { changes: { "endpoint.timeoutSeconds": timeoutSeconds } } });
const timeoutOf = ({ config }: ShardedState) => (config.partners[0]?.endpoint.timeoutMs ?? 0) / 1000;

/** Writes all shards with kubectl. */
async function write(config: RuntimeConfig): Promise<void> {
  revision += 1;
  await cluster.apply(shardSecrets(config, { revision, token: "t" }).values());
}

/** Writes the shard of the partner by one request. */
async function edit(timeoutSeconds: number): Promise<void> {
  revision += 1;
  const shards = [...shardSecrets(acme(timeoutSeconds), { revision, token: "t" })];
  const empty = shardSecrets(configOf({}));
  const changed = shards.filter(
    ([name]) => name.startsWith("config-") && shardOf(name, shards) !== shardOf(name, [...empty]),
  );
  for (const [, secret] of changed) await cluster.put(secret);
}

function shardOf(name: string, shards: readonly (readonly [string, { readonly data: object }])[]): string {
  return JSON.stringify(shards.find(([other]) => other === name)?.[1].data);
}

/** A source that finds the API server as a pod does, on the way through the proxy. */
async function open(more: Partial<KubernetesSourceOptions> = {}): Promise<KubernetesSource> {
  const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(proxy.port) };
  const access = await openClusterAccess({}, { environment, serviceAccountFolder: cluster.serviceAccountFolder });
  const common = {
    access,
    namespace: access.namespace ?? "",
    prefix: "heliograph",
    counts: fewShards,
    userAgent: "test",
  };
  const log = pino({ level: "silent" });
  const source = await KubernetesSource.open({ ...common, log, times, ...more }, new AbortController().signal);
  sources.push(source);
  return source;
}

const applied = (source: KubernetesSource, timeoutSeconds: number, timeoutMs = patience.timeoutMs) =>
  waitFor(() => timeoutOf(source.current()) === timeoutSeconds, {
    ...patience,
    timeoutMs,
    what: `the timeout of ${timeoutSeconds} s`,
  });

describe("a pod's configuration", () => {
  test("is what kubectl wrote, and an edit applies within a second", async () => {
    const source = await open();
    expect(source.current()).toMatchObject({ config: acme(3), configzToken: "t", errors: [] });
    const shown: number[] = [];
    for (let count = 1; count <= 10; count += 1) {
      const writing = edit(10 + count);
      const startedMs = performance.now();
      await Promise.all([writing, applied(source, 10 + count)]);
      shown.push(performance.now() - startedMs);
    }
    // The quickest: the others may be slow for what else the machine does.
    expect(Math.min(...shown)).toBeLessThan(1000);
  });

  test("stays as it was when a shard is corrupted or removed, and reports that until it is repaired", async () => {
    const source = await open();
    const secrets = shardSecrets(acme(3), { revision: revision + 1, token: "t" });
    await cluster.apply([corrupted(secretOf(secrets, "config-00")), corrupted(secretOf(secrets, "config-01"))]);
    await cluster.kubectl("delete", "secret", "heliograph-keys-00");
    await waitFor(() => Object.values(source.current().shards).every(({ error }) => error !== undefined), {
      ...patience,
      what: "three errors",
    });
    expect(source.current().config).toEqual(acme(3));
    revision += 1;
    await write(acme(4));
    await applied(source, 4);
    await waitFor(() => Object.values(source.current().shards).every(({ error }) => error === undefined), {
      ...patience,
      what: "no error",
    });
  });

  test("misses no edit while its watches are cut again and again", async () => {
    const source = await open();
    for (let count = 1; count <= 40; count += 1) {
      if (count % 2 === 0) proxy.cut();
      await edit(count);
      if (count % 8 === 0) await applied(source, count);
    }
    await applied(source, 40);
    expect(proxy.connections()).toBeGreaterThan(20);
  });

  test("goes on when lists are due again, with a list and a watch for each", async () => {
    const registry = new Registry();
    const lines: string[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
    const source = await open({ log, registry, times: { ...times, relistMs: 3000 } });
    const startedMs = performance.now();
    let count = 0;
    while (performance.now() - startedMs < 8000) {
      count = (count % 50) + 1;
      await edit(count);
      await applied(source, count);
    }
    const { values = [] } = (await registry.getSingleMetric("heliograph_config_api_requests_total")?.get()) ?? {};
    const asked = values.reduce((sum, { value }) => sum + value, 0);
    // Two when it began and two after each 2 to 3 seconds, for three Secrets.
    expect(asked).toBeGreaterThanOrEqual(3 * 2 * 2);
    expect(asked).toBeLessThanOrEqual(3 * 2 * 5);
    expect(lines).toEqual([]);
  });

  test("survives the API server, and what is written after it came back applies", async () => {
    const source = await open();
    await cluster.kube.stopServer();
    const before = proxy.connections();
    await waitFor(() => proxy.connections() > before + 6, { ...patience, what: "tries during the outage" });
    expect(source.current().config).toEqual(acme(3));
    await cluster.kube.startServer();
    await edit(7);
    await applied(source, 7);
    expect(source.current().errors).toEqual([]);
  });

  test("comes from copies when a pod starts while the API server is away", async () => {
    const folder = await temporaryFolder("copies");
    const copies = await ShardCopies.open(folder.path, `${shopNamespace}-heliograph`);
    await (await open({ copies })).stop();
    await cluster.kube.stopServer();
    const source = await open({ copies });
    expect(source.current()).toMatchObject({ config: acme(3), configzToken: "t", errors: [] });
    await cluster.kube.startServer();
    await edit(8);
    await applied(source, 8);
    await source.stop();
    await folder.remove();
  });

  test("needs no right but to get, list and watch the named Secrets, and has none", async () => {
    const source = await open();
    expect(timeoutOf(source.current())).toBe(3);
    const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(proxy.port) };
    const access = await openClusterAccess({}, { environment, serviceAccountFolder: cluster.serviceAccountFolder });
    const client = createKubeClient({ access, userAgent: "test", metrics: createKubeMetrics(new Registry()) });
    const namespace = shopNamespace;
    expect(await client.get(secretType, { namespace, name: "heliograph-keys-00" })).toMatchObject({ kind: "Secret" });
    const configMapType = { ...secretType, kind: "ConfigMap", plural: "configmaps" };
    const refused = [
      () => client.list(secretType, { namespace }),
      () => client.get(secretType, { namespace, name: "other" }),
      () => client.list(secretType, { namespace, fieldSelector: "metadata.name=other" }),
      () => client.list(secretType),
      () => client.list(configMapType, { namespace }),
    ];
    for (const call of refused) await expect(call()).rejects.toMatchObject({ kind: "forbidden", status: 403 });
    await client.close();
  });

  test("goes on with a rotated token after the old one was withdrawn", async () => {
    const source = await open({ times: { ...times, credentialsAgeMs: 3_600_000 } });
    await cluster.kubectl("delete", "serviceaccount", "runtime");
    await cluster.kubectl("create", "serviceaccount", "runtime");
    proxy.cut();
    // The server believes a token that it has seen for some seconds more.
    const isRefused = () => Object.values(source.current().shards).some(({ error }) => error?.includes("401") === true);
    await waitFor(
      () => {
        if (!isRefused()) proxy.cut();
        return isRefused();
      },
      { timeoutMs: 60_000, pollMs: 200, what: "the old token to be refused" },
    );
    expect(source.current().config).toEqual(acme(3));
    await cluster.rotateToken();
    await edit(9);
    await applied(source, 9);
    await waitFor(() => Object.values(source.current().shards).every(({ error }) => error === undefined), {
      ...patience,
      what: "no error",
    });
  });
});
