import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Logger, pino } from "pino";
import { Registry } from "prom-client";
import { shardNames, shardSecretName, readShardSecret, type ShardCounts } from "../../crds/shards/shards.ts";
import type { Kind } from "../../crds/resource.ts";
import { type KubeClient, createKubeClient } from "../../kube/client/client.ts";
import { type KubeEvent, eventType } from "../../kube/events/event-series.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { ClusterAccess } from "../../kube/client/credentials.ts";
import { openKubeConfig } from "../../kube/client/kube-config.ts";
import { systemClock } from "../../limits/clock.ts";
import { Outage } from "../../kube/outage.ts";
import { createKubeMetrics } from "../../kube/metrics.ts";
import { type KubeObject, secretType } from "../../kube/client/resource.ts";
import { type Operator, startOperator } from "../../operator/main.ts";
import type { OperatorOptions } from "../../operator/options.ts";
import {
  type Condition,
  resourceTypes,
  type ResourceObject,
  type SecretObject,
} from "../../operator/resource-types.ts";
import { plainObject, type Changes } from "../crds/valid-objects.ts";
import { type KubeApiHandle, type KubeApiOptions, startKubeApi } from "../support/kube-api.ts";
import { waitFor } from "../support/wait.ts";
import { TestPod } from "./test-pod.ts";
import { type Death, WatchedClient } from "./watched-client.ts";

const definitionsFolder = fileURLToPath(new URL("../../crds", import.meta.url));
const definitionFiles = ["webhook-partner", "metric-catalog", "query-class-quota", "event-catalog"];

/** Few shards: the API server writes each of them. */
export const counts: ShardCounts = { config: 3, keys: 2 };
export const prefix = "heliograph";

/** What may pass on a busy machine before a test gives up, in milliseconds. */
const patienceMs = 60_000;

/** The times of replicas in tests: long enough for a busy machine, short enough for a test. */
const testOptions = {
  prefix,
  counts,
  runtime: { urls: [] },
  lease: { leaseMs: 6_000, renewDeadlineMs: 4_000, retryMs: 200, callTimeoutMs: 1_500 },
  host: "127.0.0.1",
  metricsPort: 0,
  coalesceMs: 100,
  times: { graceMs: 1_000, emptyGraceMs: 1_500, messageMs: 500 },
} satisfies Partial<OperatorOptions>;

/** A replica under test. */
export interface Replica {
  readonly operator: Operator;
  readonly client: WatchedClient;
  stop(): Promise<void>;
}

/** A real API server that serves the four kinds. */
export class OperatorCluster {
  readonly kube: KubeApiHandle;
  readonly client: KubeClient;
  readonly access: ClusterAccess;
  readonly log: Logger = pino({ level: process.env["HELIOGRAPH_TEST_LOG"] ?? "silent" });
  /** What test pods and calls of tests know of the API server's absence. */
  readonly outage = new Outage(systemClock, Math.random);
  readonly #running = new Set<() => Promise<void>>();
  #namespaces = 0;
  #identities = 0;

  private constructor(kube: KubeApiHandle) {
    this.kube = kube;
    this.access = openKubeConfig([kube.kubeconfig]);
    const metrics = createKubeMetrics(new Registry());
    this.client = createKubeClient({ access: this.access, userAgent: "test", metrics, outage: this.outage });
  }

  static async start(options: KubeApiOptions = {}): Promise<OperatorCluster> {
    const cluster = new OperatorCluster(await startKubeApi(options));
    for (const file of definitionFiles)
      await cluster.run(["apply", "--server-side", "-f", `${definitionsFolder}/${file}.yaml`]);
    await waitFor(() => Promise.all(Object.values(resourceTypes).map((type) => cluster.client.list(type))), {
      timeoutMs: patienceMs,
      what: "the four kinds to be served",
    });
    return cluster;
  }

  async stop(): Promise<void> {
    await this.stopAll();
    await this.client.close();
    await this.kube.stop();
  }

  /** Ends every replica and pod. */
  async stopAll(): Promise<void> {
    const stops = [...this.#running].toReversed();
    this.#running.clear();
    for (const stop of stops) await stop();
  }

  async run(args: readonly string[], stdin?: string): Promise<string> {
    const { code, stdout, stderr } = await this.kube.kubectl(args, stdin);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  /** Path of a kubeconfig that reaches the API server through another port of this machine. */
  async kubeconfigAt(port: number): Promise<string> {
    const path = `${this.kube.kubeconfig}-${port}`;
    const text = await readFile(this.kube.kubeconfig, "utf8");
    await writeFile(path, text.replaceAll(this.kube.url, `https://127.0.0.1:${port}`));
    return path;
  }

  /** A namespace of a test's own. */
  async namespace(): Promise<string> {
    this.#namespaces += 1;
    const name = `test-${this.#namespaces}`;
    await this.client.create(
      { group: "", version: "v1", kind: "Namespace", plural: "namespaces" },
      { metadata: { name } },
    );
    return name;
  }

  /** Starts a replica and waits until it has compiled. */
  async replica(namespace: string, options: Partial<OperatorOptions> = {}, death?: Death): Promise<Replica> {
    let client: WatchedClient | undefined;
    this.#identities += 1;
    const operator = await startOperator({
      ...testOptions,
      access: this.access,
      namespace,
      watched: [namespace],
      identity: `replica-${this.#identities}`,
      log: this.log,
      ...options,
      wrapClient: (inner) => (client = new WatchedClient(options.wrapClient?.(inner) ?? inner, death)),
    });
    const stop = async (): Promise<void> => {
      this.#running.delete(stop);
      await operator.stop(1_000);
    };
    this.#running.add(stop);
    if (client === undefined) throw new Error("the replica has no client");
    if (death === undefined) await operator.ready;
    return { operator, client, stop };
  }

  /** Starts a pod that applies the shards of the namespace. */
  async pod(namespace: string, name: string, options: { readonly host?: string } = {}): Promise<TestPod> {
    const pod = await TestPod.start({
      client: this.client,
      outage: this.outage,
      namespace,
      name,
      prefix,
      counts,
      ...options,
    });
    const stop = async (): Promise<void> => {
      this.#running.delete(stop);
      await pod.stop();
    };
    this.#running.add(stop);
    return pod;
  }

  /** Makes or changes an object of the four kinds. */
  async put(
    namespace: string,
    kind: Kind,
    name: string,
    changes: Changes = {},
    metadata: Partial<KubeObject["metadata"]> = {},
  ): Promise<ResourceObject> {
    const object = plainObject(kind, changes, name);
    const wanted = { ...object, metadata: { ...metadata, namespace, name } } as unknown as ResourceObject;
    return await this.client.apply(resourceTypes[kind], wanted, { fieldManager: "test", force: true });
  }

  async remove(namespace: string, kind: Kind, name: string): Promise<void> {
    await this.client.delete(resourceTypes[kind], { namespace, name });
  }

  /** Makes or changes a Secret; a number is an entry of 32 bytes that repeat it. */
  async secret(namespace: string, name: string, entries: Readonly<Record<string, number | string>>): Promise<void> {
    const data = Object.fromEntries(
      Object.entries(entries).map(([key, value]) => [key, bytesOf(value).toString("base64")]),
    );
    await this.client.apply<SecretObject>(
      secretType,
      { metadata: { namespace, name }, data },
      { fieldManager: "test", force: true },
    );
  }

  async object(namespace: string, kind: Kind, name: string): Promise<ResourceObject> {
    return await this.client.get<ResourceObject>(resourceTypes[kind], { namespace, name });
  }

  /** Waits until a condition of an object has that reason for its present generation. */
  async reason(namespace: string, kind: Kind, name: string, type: string, reason: string): Promise<Condition> {
    return await waitFor(
      async () => {
        const { metadata, status } = await this.object(namespace, kind, name);
        const condition = status?.conditions?.find((one) => one.type === type);
        if (condition?.reason !== reason) throw new Error(`${type} is ${JSON.stringify(condition)}`);
        return reason === "ReconcilePaused" || condition.observedGeneration === metadata.generation
          ? condition
          : undefined;
      },
      { timeoutMs: patienceMs, what: `${kind} ${name} to be ${type} ${reason}` },
    );
  }

  /** A partner with a Secret of its own whose key repeats the byte. */
  async partner(namespace: string, name: string, byte: number, changes: Changes = {}): Promise<void> {
    await this.secret(namespace, name, { hmac: byte });
    await this.put(namespace, "WebhookPartner", name, { "signing.keys[0].secretRef.name": name, ...changes });
  }

  /** A quota for one client, in conflict with no other. */
  async quota(
    namespace: string,
    name: string,
    changes: Changes = {},
    metadata: Partial<KubeObject["metadata"]> = {},
  ): Promise<void> {
    await this.put(namespace, "QueryClassQuota", name, { clients: [{ clientId: name }], ...changes }, metadata);
  }

  /** Events about an object: `Type Reason`, oldest first. */
  async events(namespace: string, name: string): Promise<readonly string[]> {
    const { items } = await this.client.list<KubeEvent>(eventType, { namespace });
    const about = items
      .filter(({ regarding }) => regarding.name === name)
      .sort((one, other) => (one.eventTime < other.eventTime ? -1 : 1));
    return about.map(({ type, reason }) => `${type} ${reason}`);
  }

  /** The published shards by name: annotations and bytes; a Secret that is not there is absent. */
  async shards(
    namespace: string,
  ): Promise<ReadonlyMap<string, { readonly revision: number; readonly sha256: string; readonly bytes: string }>> {
    const found = await Promise.all(
      shardNames(counts).map(async (name) => {
        const secret = await this.#secretOrNone(namespace, shardSecretName(prefix, name));
        if (secret === undefined) return [];
        const reading = readShardSecret(
          {
            metadata: { annotations: { ...secret.metadata.annotations } },
            ...(secret.data === undefined ? {} : { data: secret.data }),
          },
          name,
          counts,
        );
        if (reading.error !== undefined) throw new Error(`${name}: ${reading.error}`);
        const { revision, sha256 } = reading;
        return [[name, { revision, sha256, bytes: secret.data?.["shard.json.gz"] ?? "" }] as const];
      }),
    );
    return new Map(found.flat());
  }

  /** The Secret of a shard. */
  async shardSecret(namespace: string, shard: string): Promise<SecretObject> {
    return await this.client.get<SecretObject>(secretType, { namespace, name: shardSecretName(prefix, shard) });
  }

  async #secretOrNone(namespace: string, name: string): Promise<SecretObject | undefined> {
    try {
      return await this.client.get<SecretObject>(secretType, { namespace, name });
    } catch (error) {
      if (isKubeError(error, "notFound")) return undefined;
      throw error;
    }
  }
}

function bytesOf(value: number | string): Buffer {
  return typeof value === "number" ? Buffer.alloc(32, value) : Buffer.from(value);
}
