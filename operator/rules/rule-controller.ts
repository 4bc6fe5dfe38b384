import type { Logger } from "pino";
import type { CatalogConfig } from "../../crds/config.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { keyOf, type ObjectRef } from "../../kube/client/resource.ts";
import { priorityOf } from "../../kube/informer/informer.ts";
import type { ObjectChange } from "../../kube/informer/object-store.ts";
import type { KubeMetrics } from "../../kube/metrics.ts";
import type { Outage } from "../../kube/outage.ts";
import { again, Controller, done, type Reconcile, type ReconcileResult } from "../../kube/queue/controller.ts";
import { WorkQueue } from "../../kube/queue/work-queue.ts";
import type { Clock } from "../../limits/clock.ts";
import type { ResourceInventory } from "../inventory/resources.ts";
import { everyNamespace, type WatchedNamespaces, WatchedSet } from "../inventory/watched-set.ts";
import type { ResourceObject } from "../resource-types.ts";
import {
  dayMs,
  decideRule,
  type Drift,
  isContested,
  nextRepairAt,
  type OwnedRules,
  quietMs,
  refreshAt,
  type RuleStep,
  tenantsOf,
} from "./decide-rule.ts";
import { factsOfError, factsOfStep, type RuleFacts } from "./rule-facts.ts";
import { fingerprintOf, identityOf, type RuleObject, ruleType } from "./rule-object.ts";
import { readRule, takeStep } from "./take-step.ts";

interface RuleControllerOptions {
  readonly rules: OwnedRules;
  readonly client: KubeClient;
  readonly watched: WatchedNamespaces;
  readonly resources: ResourceInventory;
  /** The version of a catalog that is in force; undefined without one. */
  readonly catalogOf: (name: string, uid: string) => CatalogConfig | undefined;
  /** `<namespace>/<prefix>` of this installation: it writes rules of the catalogs whose status it writes. */
  readonly installation: string;
  /** Called when the facts of a catalog change. @param key `MetricCatalog/<namespace>/<name>` */
  readonly onFacts: (key: string) => void;
  readonly clock: Clock;
  readonly outage: Outage;
  readonly log: Logger;
  readonly kubeMetrics: KubeMetrics;
}

/** The state of one catalog's rules in this term. */
interface Known {
  /** What the rules were generated from; empty when they must be generated again. */
  readonly inputs: string;
  /** The object as it was written or found. */
  readonly fingerprint: string;
  readonly facts: RuleFacts | undefined;
  /** Unix milliseconds. */
  readonly refreshAtMs: number;
  readonly drift: Drift;
}

/** Wait after a rejected write. */
const rejectedMs = 60_000;
/** Longest wait for a refresh: timers end before 25 days. */
const waitMsMax = dayMs / 2;
const untouched: Drift = { repairs: 0, atMs: 0 };
const workers = 4;

/** Writes the rules of catalogs in one term. It starts its own watch: the kind may not exist. */
export class RuleController {
  readonly #options: RuleControllerOptions;
  readonly #set: WatchedSet<RuleObject>;
  readonly #queue: WorkQueue;
  readonly #controller: Controller;
  readonly #known = new Map<string, Known>();

  constructor(options: RuleControllerOptions) {
    const { client, watched, clock, outage, log, kubeMetrics: metrics } = options;
    this.#options = options;
    const parts = { client, clock, outage, log, metrics, name: ruleType.plural };
    this.#set = new WatchedSet<RuleObject>(watched, { ...parts, type: ruleType, metadataOnly: true, trim: identityOf });
    this.#queue = new WorkQueue(parts);
    const reconcile: Reconcile = (name, signal) => this.#reconcile(name, signal);
    this.#controller = new Controller({ ...parts, queue: this.#queue, workers, reconcile });
    this.#set.onChange(({ key }) => this.#onRule(key));
    this.#set.onState((namespace) => this.#onNamespace(namespace));
  }

  start(): void {
    this.#set.start();
    this.#onNamespace(everyNamespace);
    this.#controller.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#controller.stop(0), this.#set.stop()]);
  }

  /** The facts of a catalog; `none` when there are no rules, undefined before its first reconcile. */
  facts(name: string): RuleFacts | "none" | undefined {
    const known = this.#known.get(name);
    return known === undefined ? undefined : (known.facts ?? "none");
  }

  /** Queues a catalog whose published form changed. @param name `<namespace>/<name>` */
  enqueue(name: string): void {
    this.#queue.add(name);
  }

  /** Handles a changed catalog. */
  onCatalog(name: string, change: ObjectChange<ResourceObject>): void {
    this.#queue.add(name, priorityOf(change));
  }

  #onRule(key: string): void {
    const { suffix } = this.#options.rules;
    if (key.endsWith(suffix)) this.#queue.add(key.slice(0, -suffix.length));
  }

  #onNamespace(namespace: string): void {
    for (const { metadata } of this.#options.resources.objects("MetricCatalog"))
      if ([everyNamespace, metadata.namespace].includes(namespace)) this.#queue.add(keyOf({ metadata }), "resync");
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const work = this.#workOf(name);
    if (work === undefined) return done;
    const [known, nowMs] = [this.#known.get(name), this.#options.clock.nowMs()];
    if (known !== undefined && this.#isSettled(known, work)) return this.#calm(name, known, nowMs);
    const repairAtMs = nextRepairAt(work.drift, nowMs);
    if (repairAtMs > nowMs) return again(repairAtMs - nowMs, "resync");
    try {
      return await this.#bring(work, signal);
    } catch (error) {
      return this.#failed(work, error);
    }
  }

  /** Undefined for a catalog that is deleted, that another installation applies, or that is not in force. */
  #workOf(name: string): Work | undefined {
    const { resources, installation, rules } = this.#options;
    const object = resources.object("MetricCatalog", name);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) {
      this.#known.delete(name);
      return undefined;
    }
    // A new catalog gets a status first.
    if (object.status?.installation !== installation) return undefined;
    const catalog = this.#options.catalogOf(name, object.metadata.uid);
    return catalog === undefined && rules.mode === "write" ? undefined : this.#workFor(name, object, catalog);
  }

  #workFor(name: string, object: ResourceObject, catalog: CatalogConfig | undefined): Work {
    const { namespace, name: own } = object.metadata;
    const ref = { namespace, name: `${own}${this.#options.rules.suffix}` };
    const inputs = JSON.stringify([catalog?.specDigest, catalog?.generation, tenantsOf(object.metadata)]);
    const known = this.#known.get(name);
    return { name, object, catalog, ref, inputs, drift: known?.inputs === inputs ? known.drift : untouched };
  }

  #isSettled({ inputs, fingerprint, refreshAtMs }: Known, work: Work): boolean {
    const isSame = inputs === work.inputs && fingerprint === fingerprintOf(this.#set.get(keyOf(work.ref)));
    return isSame && this.#options.clock.wallMs() < refreshAtMs;
  }

  /** Nothing is to do until a refresh, or until the object is no longer contested. */
  #calm(name: string, known: Known, nowMs: number): ReconcileResult {
    const { facts, drift, refreshAtMs } = known;
    if (facts?.reason === "Contested" && !isContested(drift, nowMs)) {
      this.#remember(name, { ...known, inputs: "" });
      return again(0, "resync");
    }
    const calmMs = facts?.reason === "Contested" ? drift.atMs + quietMs - nowMs : Number.POSITIVE_INFINITY;
    const waitMs = Math.min(refreshAtMs - this.#options.clock.wallMs(), calmMs);
    return waitMs === Number.POSITIVE_INFINITY ? done : again(Math.min(waitMs, waitMsMax), "resync");
  }

  /** gather → decide → write */
  async #bring(work: Work, signal: AbortSignal): Promise<ReconcileResult> {
    const { name, catalog } = work;
    const { client } = this.#options;
    const current = await readRule(client, work.ref, signal);
    const step = this.#decide(work, current);
    const after = await takeStep(client, step, { ref: work.ref, current, signal });
    const nowMs = this.#options.clock.nowMs();
    const isRepair = step.kind === "write" && this.#known.get(name)?.inputs === work.inputs;
    const drift = isRepair ? { repairs: work.drift.repairs + 1, atMs: nowMs } : work.drift;
    const generation = catalog?.generation ?? 0;
    const known = {
      inputs: step.kind === "wait" ? "" : work.inputs,
      fingerprint: fingerprintOf(after),
      facts: factsOfStep(step, { current, isContested: isContested(drift, nowMs), generation }),
      refreshAtMs: "rules" in step ? refreshAt(step.dayMs, step.rules.silencedUntilMs) : Number.POSITIVE_INFINITY,
      drift,
    };
    this.#remember(name, known);
    return this.#calm(name, known, nowMs);
  }

  #decide({ object, catalog, ref }: Work, current: RuleObject | undefined): RuleStep {
    const { rules, clock } = this.#options;
    const tenants = tenantsOf(object.metadata);
    const rulesOn =
      rules.mode === "remove" || catalog === undefined
        ? undefined
        : (day: number) => rules.generate(catalog, { tenants, dayMs: day });
    const todayMs = Math.floor(clock.wallMs() / dayMs) * dayMs;
    return decideRule({ owner: object.metadata, name: ref.name, labels: rules.labels, todayMs, current, rulesOn });
  }

  #failed({ name, object, drift }: Work, error: unknown): ReconcileResult {
    // Another writer was faster, or the term ends.
    if (!isKubeError(error) || isKubeError(error, "conflict", "alreadyExists", "aborted")) throw error;
    const facts = factsOfError(error, object.metadata.generation);
    this.#remember(name, { inputs: "", fingerprint: "", facts, refreshAtMs: 0, drift });
    if (isKubeError(error, "transient")) throw error;
    return again(rejectedMs, "resync");
  }

  #remember(name: string, known: Known): void {
    const before = this.#known.get(name);
    this.#known.set(name, known);
    if (before === undefined || JSON.stringify(before.facts) !== JSON.stringify(known.facts))
      this.#options.onFacts(`MetricCatalog/${name}`);
  }
}

/** One catalog to reconcile. */
interface Work {
  /** `<namespace>/<name>` */
  readonly name: string;
  readonly object: ResourceObject;
  readonly catalog: CatalogConfig | undefined;
  readonly ref: ObjectRef;
  readonly inputs: string;
  readonly drift: Drift;
}
