import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { Registry } from "prom-client";
import { digestOf } from "../../crds/compile/canonical-json.ts";
import type { RuntimeConfig } from "../../crds/config.ts";
import type { ConfigzError, ConfigzMark, ConfigzObserved, ConfigzReport, ConfigzShard } from "../../crds/configz.ts";
import { joinShards } from "../../crds/shards/join-shards.ts";
import {
  readShardSecret,
  shardNames,
  shardSecretName,
  type Shard,
  type ShardCounts,
} from "../../crds/shards/shards.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { Informer } from "../../kube/informer/informer.ts";
import type { Outage } from "../../kube/outage.ts";
import { createKubeMetrics } from "../../kube/metrics.ts";
import { type SecretObject } from "../../operator/resource-types.ts";
import { secretType } from "../../kube/client/resource.ts";

interface TestPodOptions {
  readonly client: KubeClient;
  readonly outage?: Outage;
  readonly namespace: string;
  readonly name: string;
  readonly prefix: string;
  readonly counts: ShardCounts;
  /** Address that it listens on. @default 127.0.0.1 */
  readonly host?: string;
}

/** What a pod of the runtime is to the operator: it follows the shards for real, and answers `/configz` over HTTP. */
export class TestPod {
  readonly #options: TestPodOptions;
  readonly #server: Server;
  readonly #informer: Informer<SecretObject>;
  readonly #shards = new Map<string, { readonly shard: Shard; readonly seen: ConfigzShard }>();
  readonly #waiting = new Set<() => void>();
  /** What came while it was frozen. */
  readonly #held = new Map<string, SecretObject>();
  #config: RuntimeConfig | undefined;
  #faults: readonly ConfigzError[] = [];
  #token: string | undefined;
  #version = 0;
  #isFrozen = false;
  #isDeaf = false;
  /** Added to what the shards make it report. */
  #errors: readonly ConfigzError[] = [];
  #marks: readonly ConfigzMark[] = [];
  #observed: readonly ConfigzObserved[] = [];
  polls = 0;
  /** Every fault that the shards ever made it report. */
  readonly faultsSeen: ConfigzError[] = [];
  /** Every configuration that it applied, once a test asks for them. */
  configsSeen: RuntimeConfig[] | undefined;

  private constructor(options: TestPodOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#informer = new Informer<SecretObject>({
      client: options.client,
      ...(options.outage === undefined ? {} : { outage: options.outage }),
      type: secretType,
      namespace: options.namespace,
      labelSelector: `heliograph.dev/config=${options.prefix}`,
      log: pino({ level: "silent" }),
      metrics: createKubeMetrics(new Registry()),
    });
    this.#informer.onChange(({ kind, object }) => {
      if (kind === "deleted") return;
      if (this.#isFrozen) this.#held.set(object.metadata.name ?? "", object);
      else this.#apply(object);
    });
  }

  static async start(options: TestPodOptions): Promise<TestPod> {
    const pod = new TestPod(options);
    await new Promise<void>((resolve) => {
      pod.#server.listen(0, options.host ?? "127.0.0.1", resolve);
    });
    pod.#informer.start();
    return pod;
  }

  get name(): string {
    return this.#options.name;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What it applies; undefined before all shards were there. */
  get config(): RuntimeConfig | undefined {
    return this.#config;
  }

  /** Applies nothing new until it is thawed. */
  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const secret of this.#held.values()) this.#apply(secret);
    this.#held.clear();
  }

  /** Answers nobody until it hears again. */
  deafen(): void {
    this.#isDeaf = true;
    this.#server.closeAllConnections();
  }

  hear(): void {
    this.#isDeaf = false;
  }

  report(parts: Partial<Pick<ConfigzReport, "errors" | "marks" | "observed">>): void {
    this.#errors = parts.errors ?? this.#errors;
    this.#marks = parts.marks ?? this.#marks;
    this.#observed = parts.observed ?? this.#observed;
    this.#changed();
  }

  async stop(): Promise<void> {
    for (const wake of this.#waiting) wake();
    await this.#informer.stop();
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #apply(secret: SecretObject): void {
    const { counts, prefix } = this.#options;
    const name = shardNames(counts).find((candidate) => shardSecretName(prefix, candidate) === secret.metadata.name);
    if (name === undefined) return;
    const reading = readShardSecret(
      {
        metadata: { annotations: { ...secret.metadata.annotations } },
        ...(secret.data === undefined ? {} : { data: secret.data }),
      },
      name,
      counts,
    );
    const known = this.#shards.get(name);
    if (reading.error === undefined) {
      const { shard, revision, sha256 } = reading;
      this.#shards.set(name, { shard, seen: { revision, sha256 } });
    } else if (known !== undefined) this.#shards.set(name, { ...known, seen: { ...known.seen, error: reading.error } });
    this.#join();
    this.#changed();
  }

  #join(): void {
    if (this.#shards.size < shardNames(this.#options.counts).length) return;
    const { config, faults, configzToken } = joinShards(
      [...this.#shards.values()].map(({ shard }) => shard),
      this.#config,
    );
    this.#config = config;
    this.configsSeen?.push(config);
    this.#faults = faults;
    this.faultsSeen.push(...faults);
    this.#token = configzToken;
  }

  #changed(): void {
    this.#version += 1;
    for (const wake of this.#waiting) wake();
  }

  #report(): ConfigzReport {
    return {
      version: String(this.#version),
      pod: this.#options.name,
      ready: this.#config !== undefined,
      hash: this.#config === undefined ? null : digestOf(this.#config),
      shards: Object.fromEntries([...this.#shards].map(([name, { seen }]) => [name, seen])),
      errors: [...this.#faults, ...this.#errors],
      marks: this.#marks,
      observed: this.#observed,
    };
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#isDeaf) {
      request.socket.destroy();
      return;
    }
    const url = new URL(request.url ?? "/", "http://pod");
    if (request.headers.authorization !== `Bearer ${this.#token ?? ""}` || this.#token === undefined) {
      response.writeHead(401).end();
      return;
    }
    this.polls += 1;
    const waitMs = Number(url.searchParams.get("wait") ?? "0") * 1000;
    if (url.searchParams.get("after") === String(this.#version)) await this.#nextChange(waitMs);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(this.#report()));
  }

  async #nextChange(waitMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, waitMs);
      this.#waiting.add(end);
    });
  }
}
