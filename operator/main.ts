// The operator: gathers resources, decides, and writes shards and statuses. It handles no event and no query.
import { randomBytes } from "node:crypto";
import { collectDefaultMetrics, Registry } from "prom-client";
import { lastGoodMsDefault } from "../crds/compile/last-good.ts";
import { allowAll, type InstallationPolicy } from "../crds/policy.ts";
import { StatusWriter } from "./controllers/status-writer.ts";
import { startHealthServer, type HealthServer } from "./health-server.ts";
import { ResourceInventory, type ResourceChange } from "./inventory/resources.ts";
import { SecretInventory } from "./inventory/secrets.ts";
import { createKubeClient, type KubeClient } from "../kube/client/client.ts";
import { type Clock, systemClock } from "../limits/clock.ts";
import { EventRecorder } from "../kube/events/events.ts";
import { LeaderElection } from "../kube/lease/lease.ts";
import { Outage } from "../kube/outage.ts";
import { createKubeMetrics, type KubeMetrics } from "../kube/metrics.ts";
import {
  createOperatorMetrics,
  type OperatorMetrics,
  registerConditionMetrics,
  registerNamespaceMetrics,
} from "./metrics.ts";
import { shardName } from "../crds/shards/shards.ts";
import type { OperatorOptions } from "./options.ts";
import { createPolicyWatch, PolicyFile } from "./policy/policy-file.ts";
import { type Desired, DesiredState } from "./publish/desired-state.ts";
import { Publications } from "./publish/publications.ts";
import { type ShardChange, ShardSecrets } from "./publish/shard-secrets.ts";
import { kindsInOrder } from "./resource-types.ts";
import { startStep } from "./start-error.ts";
import { Term } from "./leader-term.ts";
import { version } from "./version.ts";
import {
  createWatches,
  healthOf,
  onNamespaceState,
  namespaceStates,
  unavailability,
  type Watches,
  watchesIn,
} from "./watches.ts";

/** A running replica. */
export interface Operator {
  /** Of probes and metrics. */
  readonly metricsUrl: string;
  /** Resolves with true once the configuration is compiled, with false when stopped before. */
  readonly ready: Promise<boolean>;
  isLeader(): boolean;
  /** Hands the lead over and stops. Unwritten events get this time. Runs once. */
  stop(drainMs: number): Promise<void>;
}

/** Reporting controller of events, the same for all replicas. */
const reportingController = "heliograph.dev/operator";
const tokenBytes = 32;
/**
 * Wait for lists of namespaces after the shards are known. The shards then replaces what is not listed, so that one
 * slow or broken list delays no other namespace.
 */
const listsMsMax = 20_000;

/**
 * Starts a replica. Every replica watches and compiles; the one that holds the Lease publishes, observes the pods and
 * writes statuses.
 *
 * @throws StartError `policy` or `port`
 */
export async function startOperator(options: OperatorOptions): Promise<Operator> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = createOperatorMetrics(registry);
  const policy = await openPolicy(options, metrics, () => replica.touch());
  const replica = new Replica(options, registry, metrics, policy);
  const open = () => startHealthServer({ registry, ...replica.probes() }, options.metricsPort, options.host);
  const server = await startStep("port", "the port of probes and metrics cannot be opened", open);
  return operatorOf(replica, server, policy);
}

function operatorOf(replica: Replica, server: HealthServer, policy: PolicyFile | undefined): Operator {
  const ready = replica.start();
  let stopped: Promise<void> | undefined;
  const stop = async (drainMs: number): Promise<void> => {
    policy?.stop();
    await replica.stop(drainMs);
    await server.stop();
  };
  return {
    metricsUrl: server.url,
    ready,
    isLeader: () => replica.isLeader(),
    stop: (drainMs) => (stopped ??= stop(drainMs)),
  };
}

async function openPolicy(
  options: OperatorOptions,
  metrics: OperatorMetrics,
  onChange: () => void,
): Promise<PolicyFile | undefined> {
  const { policyFile: path, clock = systemClock, log, watched } = options;
  if (path === undefined) {
    log.warn({ watched }, "no policy, all watched namespaces may use everything");
    return undefined;
  }
  const open = () => PolicyFile.open({ path, clock, log, metrics, onChange });
  return await startStep("policy", `the policy ${path} cannot be used`, open);
}

/** The parts of a replica and their wiring. */
class Replica {
  readonly #options: OperatorOptions;
  readonly #clock: Clock;
  readonly #metrics: OperatorMetrics;
  readonly #kubeMetrics: KubeMetrics;
  readonly #outage: Outage;
  readonly #client: KubeClient;
  readonly #watches: Watches;
  readonly #resources: ResourceInventory;
  readonly #secrets: SecretInventory;
  readonly #shards: ShardSecrets;
  readonly #publications: Publications;
  readonly #desired: DesiredState;
  readonly #events: EventRecorder;
  readonly #election: LeaderElection;
  readonly #policyWatch: ReturnType<typeof createPolicyWatch> | undefined;
  /** Token of the first replica; later ones read it from a shard. */
  readonly #ownToken = randomBytes(tokenBytes).toString("base64url");
  readonly #compiled = Promise.withResolvers<boolean>();
  #term: Term | undefined;
  #isSynced = false;

  constructor(options: OperatorOptions, registry: Registry, metrics: OperatorMetrics, policy: PolicyFile | undefined) {
    const { namespace, prefix, counts, log, identity, clock = systemClock, random = Math.random } = options;
    this.#options = options;
    this.#clock = clock;
    this.#metrics = metrics;
    this.#kubeMetrics = createKubeMetrics(registry);
    this.#outage = new Outage(clock, random);
    this.#client = this.#createClient();
    const parts = { client: this.#client, log, metrics: this.#kubeMetrics, outage: this.#outage, clock };
    this.#watches = createWatches(options, parts);
    this.#resources = new ResourceInventory(this.#watches.kinds);
    this.#secrets = new SecretInventory({ ...parts, metadata: this.#watches.secrets, onChange: () => this.touch() });
    this.#shards = new ShardSecrets({ ...parts, namespace, prefix, counts, watched: this.#watches.shards });
    this.#publications = new Publications(counts);
    this.#desired = this.#createDesired(() => policy?.policy ?? allowAll);
    const { policyConfigMap: configMap } = options;
    if (policy !== undefined && configMap !== undefined)
      this.#policyWatch = createPolicyWatch({ ...parts, namespace, configMap, onText: (text) => policy.use(text) });
    this.#events = new EventRecorder({ ...parts, reporter: { controller: reportingController, instance: identity } });
    this.#election = this.#createElection();
    this.#wire(registry);
  }

  /** Watches, compiles once and then joins the leader election. */
  async start(): Promise<boolean> {
    const watches = watchesIn(this.#watches);
    for (const watch of watches) watch.start();
    this.#policyWatch?.start();
    const settled = Promise.all(watches.map((watch) => watch.whenSettled()));
    if (!(await this.#watches.shards.whenSynced())) return false;
    if (!(await this.#within(listsMsMax, settled))) return false;
    this.#isSynced = true;
    this.touch();
    if (!(await this.#compiled.promise)) return false;
    this.#election.start();
    return true;
  }

  /** Resolves with true when the watches settle or the time is over, with false when they are stopped before. */
  async #within(waitMs: number, settled: Promise<readonly boolean[]>): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const cancel = this.#clock.after(waitMs, () => resolve(true));
    void settled.then((all) => resolve(all.every(Boolean)));
    return await promise.finally(cancel);
  }

  async stop(drainMs: number): Promise<void> {
    this.#compiled.resolve(false);
    await this.#election.stop();
    await this.#desired.stop();
    this.#secrets.stop();
    await this.#events.stop(drainMs);
    await this.#policyWatch?.stop();
    await Promise.all(watchesIn(this.#watches).map((watch) => watch.stop()));
    await this.#client.close();
  }

  /** Handles a change of an input of the configuration. */
  touch(): void {
    if (this.#isSynced) this.#desired.touch();
  }

  isLeader(): boolean {
    return this.#election.isLeader();
  }

  probes() {
    return {
      watches: () => healthOf(this.#watches),
      isReady: () => this.#desired.current !== undefined,
      isLeader: () => this.isLeader(),
    };
  }

  #createClient(): KubeClient {
    const { access, wrapClient = (client) => client } = this.#options;
    const userAgent = `heliograph-operator/${version}`;
    return wrapClient(
      createKubeClient({ access, userAgent, metrics: this.#kubeMetrics, outage: this.#outage, clock: this.#clock }),
    );
  }

  #createDesired(policy: () => InstallationPolicy): DesiredState {
    const { counts, log, coalesceMs, shardBytesMax, lastGoodMs = lastGoodMsDefault } = this.#options;
    return new DesiredState({
      resources: this.#resources,
      secrets: this.#secrets,
      publications: this.#publications,
      policy,
      token: () => this.#token(),
      counts,
      lastGoodMs,
      clock: this.#clock,
      log,
      metrics: this.#metrics,
      ...(coalesceMs === undefined ? {} : { coalesceMs }),
      ...(shardBytesMax === undefined ? {} : { shardBytesMax }),
      onDesired: (desired, changed) => this.#onDesired(desired, changed),
    });
  }

  #createElection(): LeaderElection {
    const { namespace, prefix, identity, log, lease, random = Math.random } = this.#options;
    return new LeaderElection({
      client: this.#client,
      lease: { namespace, name: `${prefix}-operator` },
      identity,
      log,
      metrics: this.#kubeMetrics,
      outage: this.#outage,
      clock: this.#clock,
      random,
      ...lease,
      onStarted: (term) => {
        this.#term = this.#createTerm();
        this.#term.start(term);
      },
      onStopped: async () => {
        await this.#term?.stop();
        this.#term = undefined;
      },
    });
  }

  #createTerm(): Term {
    const { namespace, prefix, counts, log, runtime, workers, times, random = Math.random } = this.#options;
    const [clock, metrics] = [this.#clock, this.#metrics];
    return new Term({
      resources: this.#resources,
      publications: this.#publications,
      desired: () => this.#desired.current,
      installation: `${namespace}/${prefix}`,
      writer: new StatusWriter({ client: this.#client, clock, metrics }),
      events: this.#events,
      unavailable: (one) => unavailability(this.#watches, one),
      runtime,
      slices: this.#watches.slices,
      ownedRules: this.#options.rules,
      client: this.#client,
      watched: this.#options.watched,
      token: () => this.#token(),
      publisher: {
        shards: this.#shards,
        counts,
        desired: () => this.#desired.current?.shards,
        clock,
        random,
        outage: this.#outage,
        log,
        metrics,
      },
      kubeMetrics: this.#kubeMetrics,
      outage: this.#outage,
      clock,
      random,
      log,
      metrics,
      ...(workers === undefined ? {} : { workers }),
      ...(times === undefined ? {} : { times }),
    });
  }

  #wire(registry: Registry): void {
    this.#resources.onChange((change) => this.#onResource(change));
    this.#shards.onChange((change) => this.#onShard(change));
    this.#watches.slices?.onChange(() => this.#term?.onSlices());
    onNamespaceState(this.#watches, (namespace) => this.#onNamespace(namespace));
    registerNamespaceMetrics(registry, () => namespaceStates(this.#watches, this.#options.watched));
    this.#kubeMetrics.ages.add(() => this.#term?.measure());
    registerConditionMetrics(registry, () => kindsInOrder.flatMap((kind) => this.#resources.objects(kind)));
  }

  #onResource(change: ResourceChange): void {
    if (change.isEdit) this.touch();
    this.#term?.onResource(change);
  }

  /** What is not listed is carried, and a first list ends that; a list of no objects reports no change. */
  #onNamespace(namespace: string): void {
    this.touch();
    this.#term?.controllers.onNamespace(namespace);
  }

  #onShard(change: ShardChange): void {
    const changed = this.#publications.take(change, this.#clock.nowMs());
    // The token that another leader made must stay when this replica takes the lead.
    if (change.name === shardName("keys", 0)) this.touch();
    for (const key of changed) this.#term?.enqueue(key);
    this.#term?.publisher.wake();
  }

  #onDesired(_desired: Desired, changed: readonly string[]): void {
    this.#compiled.resolve(true);
    this.#term?.publisher.wake();
    for (const key of changed) this.#term?.enqueue(key);
  }

  /** The token of the shards; before there is one, the own token. */
  #token(): string {
    return this.#shards.token() ?? this.#ownToken;
  }
}
