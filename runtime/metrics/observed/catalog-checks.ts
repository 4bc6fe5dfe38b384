import { hash } from "node:crypto";
import type { Logger } from "pino";
import { digestOf } from "../../../crds/compile/canonical-json.ts";
import type { CatalogConfig, RuntimeConfig } from "../../../crds/config.ts";
import type { CheckStatus, ConfigzObserved } from "../../../crds/configz.ts";
import { createByteBudget } from "../../stores/limits/fan-out.ts";
import type { Store, Stores } from "../../stores/store.ts";
import { ownerOf, type Pods } from "../../pods/pods.ts";
import { type CatalogIndex, type CatalogStore, indexCatalogs, type MetricEntry } from "../catalog-index.ts";
import { checksReport, type ChecksReport, type ReadPair } from "./checks-report.ts";
import type { StepFault } from "./decide-checks.ts";
import { type BackgroundReads, type FactStep, factSteps, type MetricFacts, readFacts } from "./metric-facts.ts";

const ticksPerPeriod = 300;
/** Bounds of one request. */
const requestMsMax = 10_000;
const responseBytesMax = 4 * 1024 * 1024;
/** Time of the response of the pod that checks. */
const replyMs = 2_000;
const topic = "catalog-checks";

interface ChecksOptions {
  readonly stores: Stores;
  readonly pods: Pods;
  readonly log: Pick<Logger, "warn">;
  /** Unix milliseconds. Requests are sent at times of this clock, so that a new leader repeats none. */
  readonly now: () => number;
  /** Receives the outcome of each request. */
  readonly count: (outcome: "ok" | "failed") => void;
  /** Time in which each request about a metric in a store is sent once. @default nothing is compared */
  readonly periodMs?: number | undefined;
}

/** A metric in a store that this runtime can read. */
interface Pair extends ReadPair {
  readonly entry: MetricEntry;
  readonly store: CatalogStore;
  /** Time of its first request within each period, in milliseconds. */
  readonly offsetMs: number;
  readonly digest: string;
  facts: MetricFacts;
  readonly faults: Map<FactStep, StepFault>;
  readonly readMs: Map<FactStep, number>;
}

type Task = { readonly pair: Pair; readonly step: FactStep };

/**
 * Compares the catalogs with their stores, in one pod of the installation. Each metric in a store gets four requests in
 * five minutes, at times that follow from its name. They take no place of queries, and are not repeated.
 */
export class CatalogChecks {
  readonly #options: ChecksOptions;
  readonly #periodMs: number;
  readonly #queues = new Map<string, Set<Task>>();
  readonly #running = new Set<Promise<void>>();
  readonly #ending = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  #catalogs: readonly CatalogConfig[] = [];
  #index: CatalogIndex = new Map();
  #pairs: ReadonlyMap<string, Pair> = new Map();
  #lastMs: number;
  #wasLeader = false;

  constructor(options: ChecksOptions) {
    this.#options = options;
    this.#periodMs = options.periodMs ?? Number.POSITIVE_INFINITY;
    this.#lastMs = options.now();
    options.pods.serve(topic, () => this.#report());
    if (options.periodMs === undefined) return;
    this.#timer = setInterval(() => this.#tick(), Math.max(1, this.#periodMs / ticksPerPeriod)).unref();
  }

  /** Applies a configuration. What is known of unchanged metrics in unchanged stores stays. */
  apply({ catalogs }: Pick<RuntimeConfig, "catalogs">): void {
    const before = this.#pairs;
    this.#index = indexCatalogs(catalogs);
    const pairs = [...this.#index.values()].flatMap((entry) =>
      entry.stores.filter(isCompared).map((store) => {
        const key = `${store.key} ${entry.metric.id}`;
        const digest = digestOf([entry.digest, store.digest, entry.slos]);
        const known = before.get(key);
        if (known?.digest === digest) return [key, known] as const;
        const offsetMs = this.#offsetOf(key);
        return [key, { entry, store, offsetMs, digest, facts: {}, faults: new Map(), readMs: new Map() }] as const;
      }),
    );
    this.#catalogs = catalogs;
    this.#pairs = new Map(pairs);
  }

  observed(): readonly ConfigzObserved[] {
    return this.#isLeader() ? this.#report().catalogs : [];
  }

  /** Numbers of metrics by catalog and status, in the pod that checks. */
  counts(): readonly { readonly catalog: string; readonly status: CheckStatus; readonly count: number }[] {
    return this.observed().flatMap(({ namespace, name, metrics }) => {
      const total = this.#catalogs.find((one) => one.namespace === namespace && one.name === name)?.metrics.length ?? 0;
      const countOf = (status: CheckStatus): number => metrics.filter((one) => one.status === status).length;
      const catalog = `${namespace}/${name}`;
      const others = (["False", "Unknown", "NotChecked"] as const).map((status) => ({
        catalog,
        status,
        count: countOf(status),
      }));
      return [{ catalog, status: "True" as const, count: total - metrics.length }, ...others];
    });
  }

  /** The checks of the pod that does them. @throws Error if it does not respond */
  async read(): Promise<ChecksReport> {
    const { pods } = this.#options;
    const leader = ownerOf(topic, pods.live()) ?? pods.own;
    if (leader === pods.own) return this.#report();
    const reply = await pods.request(leader, topic, {}, replyMs);
    if (isReport(reply)) return reply;
    throw new Error(`the pod ${leader} does not check catalogs`);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#ending.abort();
    await Promise.all(this.#running);
  }

  #isLeader(): boolean {
    const { pods } = this.#options;
    return ownerOf(topic, pods.live()) === pods.own;
  }

  #offsetOf(key: string): number {
    const spread = Number.parseInt(hash("sha256", key, "hex").slice(0, 8), 16) / 2 ** 32;
    return Math.floor((spread * this.#periodMs) / factSteps.length);
  }

  #tick(): void {
    const [lastMs, nowMs] = [this.#lastMs, this.#options.now()];
    this.#lastMs = nowMs;
    const isLeader = this.#isLeader();
    if (this.#wasLeader && !isLeader) this.#forget();
    this.#wasLeader = isLeader;
    if (!isLeader) return;
    const quarterMs = this.#periodMs / factSteps.length;
    for (const pair of this.#pairs.values()) {
      for (const [index, step] of factSteps.entries()) {
        const dueMs = pair.offsetMs + index * quarterMs;
        const turn = (atMs: number): number => Math.floor((atMs - dueMs) / this.#periodMs);
        if (turn(nowMs) > turn(lastMs)) this.#enqueue({ pair, step });
      }
    }
  }

  /** Another pod checks now. */
  #forget(): void {
    for (const pair of this.#pairs.values()) {
      pair.facts = {};
      pair.faults.clear();
      pair.readMs.clear();
    }
  }

  /** Requests to one store are sequential. A request that still waits is not added again. */
  #enqueue(task: Task): void {
    const { key } = task.pair.store;
    const queue = this.#queues.get(key);
    if (queue === undefined) {
      const own = new Set([task]);
      this.#queues.set(key, own);
      const running = this.#work(key, own).finally(() => this.#running.delete(running));
      this.#running.add(running);
      return;
    }
    const isWaiting = [...queue].some(({ pair, step }) => pair === task.pair && step === task.step);
    if (!isWaiting) queue.add(task);
  }

  async #work(key: string, queue: Set<Task>): Promise<void> {
    for (const task of queue) {
      queue.delete(task);
      if (this.#ending.signal.aborted || this.#pairs.get(`${key} ${task.pair.entry.metric.id}`) !== task.pair) continue;
      await this.#run(task);
    }
    this.#queues.delete(key);
  }

  async #run({ pair, step }: Task): Promise<void> {
    const { count, log, now, stores } = this.#options;
    if (step === "values" && pair.facts.labels === undefined) return;
    try {
      const reads = await backgroundReads(stores.get(pair.store.key), this.#ending.signal);
      pair.facts = await readFacts(step, pair, pair.facts, reads, now());
      pair.faults.delete(step);
      pair.readMs.set(step, now());
      count("ok");
    } catch (error) {
      if (this.#ending.signal.aborted) return;
      const ids = { metric: pair.entry.metric.id, store: pair.store.key, step };
      const before = pair.faults.get(step)?.count ?? 0;
      if (before === 0) log.warn({ ...ids, err: error }, "a metric cannot be compared with its store");
      pair.faults.set(step, { count: before + 1 });
      count("failed");
    }
  }

  #report(): ChecksReport {
    return checksReport(this.#catalogs, this.#index, ({ key }, metric) => this.#pairs.get(`${key} ${metric}`));
  }
}

/** Peers check their own stores. A store that needs a tenant for each request has no series without one. */
function isCompared({ config }: CatalogStore): boolean {
  return config.prometheus !== undefined && config.tenancy !== "StoreHeader";
}

/** @throws StoreError; Error for a store that fails already, which gets no request */
async function backgroundReads(store: Store, ending: AbortSignal): Promise<BackgroundReads> {
  store.check();
  if (store.state() === "failing" || store.background === undefined) throw new Error("the store does not respond");
  const { boundary } = await store.capabilities();
  const signal = AbortSignal.any([ending, AbortSignal.timeout(requestMsMax)]);
  const call = { signal, tenant: undefined, bytes: createByteBudget(responseBytesMax) };
  const { post, get } = store.background;
  return { boundary, post: (path, form) => post(path, form, call), get: (path, form) => get(path, form, call) };
}

/** A pod of another version may have another form. */
function isReport(reply: unknown): reply is ChecksReport {
  const { catalogs, checked } = (reply ?? {}) as Partial<ChecksReport>;
  return Array.isArray(catalogs) && Array.isArray(checked);
}
