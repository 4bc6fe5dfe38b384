// Conditions and statuses of the kinds in one term. It does not write shards.
import type { Logger } from "pino";
import type { Kind } from "../../crds/resource.ts";
import { resourceKey } from "../../crds/shards/shards.ts";
import type { ResourceInventory } from "../inventory/resources.ts";
import { everyNamespace } from "../inventory/watched-set.ts";
import { priorityOf } from "../../kube/informer/informer.ts";
import type { Clock } from "../../limits/clock.ts";
import { Controller, again, done, type Reconcile, type ReconcileResult } from "../../kube/queue/controller.ts";
import type { Regarding } from "../../kube/events/event-series.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { Outage } from "../../kube/outage.ts";
import type { KubeMetrics } from "../../kube/metrics.ts";
import type { Priority } from "../../kube/queue/queue-state.ts";
import { apiVersionOf, keyOf } from "../../kube/client/resource.ts";
import { WorkQueue } from "../../kube/queue/work-queue.ts";
import type { OperatorMetrics } from "../metrics.ts";
import type { PodNews } from "../observe/pod-registry.ts";
import { type Pods, type RolloutTimes, rolloutTimesDefault } from "../observe/rollout.ts";
import type { Desired } from "../publish/desired-state.ts";
import type { Publications } from "../publish/publications.ts";
import { kindsInOrder, resourceTypes, type ResourceObject, type ResourceStatus } from "../resource-types.ts";
import { factsOf, isProgrammedIn, type KnownObject } from "./gather.ts";
import { effectsOf } from "./report-effects.ts";
import { type OwnerDecision, conflictType, decideOwner } from "./status-owner.ts";
import { decideStatus, type StatusTimes, statusTimesDefault } from "./status-decision.ts";
import type { StatusWriter } from "./status-writer.ts";
import { transitionsBetween } from "./transitions.ts";
import { WaitingIndex } from "./waiting-index.ts";

export interface ResourceControllersOptions {
  readonly resources: ResourceInventory;
  readonly desired: () => Desired | undefined;
  readonly publications: Publications;
  readonly pods: () => Pods;
  readonly writer: StatusWriter;
  /** `<namespace>/<prefix>` of this installation. */
  readonly installation: string;
  readonly events: EventRecorder;
  /** Reason why a namespace cannot be listed now; undefined while it can. */
  readonly unavailable: (namespace: string) => string | undefined;
  /** Facts of a catalog's PrometheusRule, by `<namespace>/<name>`; see {@link KnownObject}. */
  readonly rules: (name: string) => KnownObject["rules"];
  readonly clock: Clock;
  readonly log: Logger;
  readonly kubeMetrics: KubeMetrics;
  /** Its end ends the waits after failed status writes. */
  readonly outage: Outage;
  readonly metrics: OperatorMetrics;
  /** Keys of each kind reconciled at once. @default 16 */
  readonly workers?: number;
  /** @default {@link rolloutTimesDefault} and {@link statusTimesDefault} */
  readonly times?: RolloutTimes & StatusTimes;
}

/** The controllers of the kinds in one term. They write the status of each object. */
export class ResourceControllers {
  readonly #options: ResourceControllersOptions;
  readonly #times: RolloutTimes & StatusTimes;
  readonly #queues: Readonly<Record<Kind, WorkQueue>>;
  readonly #controllers: readonly Controller[];
  readonly #waiting = new WaitingIndex();
  /** Digests of the published forms that every ready pod was seen to apply. */
  readonly #confirmed: Map<string, string>;
  readonly #pendingSince = new Map<string, number>();
  #cancelEmpty: (() => void) | undefined;

  constructor(options: ResourceControllersOptions) {
    this.#options = options;
    this.#times = options.times ?? { ...rolloutTimesDefault, ...statusTimesDefault };
    const queue = (kind: Kind) =>
      new WorkQueue({
        name: kind.toLowerCase(),
        metrics: options.kubeMetrics,
        outage: options.outage,
        clock: options.clock,
      });
    this.#queues = {
      WebhookPartner: queue("WebhookPartner"),
      MetricCatalog: queue("MetricCatalog"),
      QueryClassQuota: queue("QueryClassQuota"),
      EventCatalog: queue("EventCatalog"),
    };
    this.#controllers = kindsInOrder.map((kind) => this.#controllerOf(kind));
    this.#confirmed = new Map(
      kindsInOrder
        .flatMap((kind) => options.resources.objects(kind))
        .flatMap((object) => this.#programmedBefore(object)),
    );
  }

  start(): void {
    for (const kind of kindsInOrder) {
      for (const { metadata } of this.#options.resources.objects(kind))
        this.enqueue(resourceKey(kind, metadata), "resync");
    }
    for (const controller of this.#controllers) controller.start();
    this.onPods();
  }

  /** Resolves when the last write has ended. */
  async stop(drainMs: number): Promise<void> {
    this.#cancelEmpty?.();
    await Promise.all(this.#controllers.map((controller) => controller.stop(drainMs)));
  }

  /** Queues one object. @param key `<Kind>/<namespace>/<name>` */
  enqueue(key: string, priority: Priority = "edit"): void {
    const slash = key.indexOf("/");
    const kind = kindsInOrder.find((candidate) => candidate === key.slice(0, slash));
    if (kind !== undefined) this.#queues[kind].add(key.slice(slash + 1), priority);
  }

  /** Handles a changed object. */
  onObject(kind: Kind, key: string, change: Parameters<typeof priorityOf>[0]): void {
    this.#queues[kind].add(key, priorityOf(change));
  }

  /** Handles a namespace that can be listed again, or no longer; `*` is every one. */
  onNamespace(namespace: string): void {
    for (const kind of kindsInOrder) {
      const objects = this.#options.resources.objects(kind);
      for (const { metadata } of objects.filter((one) => [everyNamespace, one.metadata.namespace].includes(namespace)))
        this.enqueue(resourceKey(kind, metadata));
    }
  }

  /** Handles a change of the pods. */
  onNews(news: PodNews): void {
    if (news.kind === "pods") {
      this.onPods();
      return;
    }
    const { publications } = this.#options;
    const { moved, fellBack, named } = effectsOf(news.before, news.after, (shard) => publications.current(shard));
    for (const key of [...moved.flatMap((shard) => this.#waiting.forShard(shard)), ...named]) this.enqueue(key);
    for (const key of fellBack.flatMap((shard) => publications.inShard(shard))) this.enqueue(key, "resync");
  }

  /** Handles a change of the ready pods. Without pods, a published version stays in force for a grace time. */
  onPods(): void {
    for (const key of this.#waiting.all()) this.enqueue(key);
    this.#cancelEmpty?.();
    if (this.#options.pods().list.length > 0) return;
    this.#cancelEmpty = this.#options.clock.after(this.#times.emptyGraceMs, () => {
      for (const key of this.#options.publications.keys()) this.enqueue(key, "resync");
    });
  }

  #controllerOf(kind: Kind): Controller {
    const { log, kubeMetrics, clock, workers } = this.#options;
    return new Controller({
      name: kind.toLowerCase(),
      queue: this.#queues[kind],
      reconcile: this.#reconcileOf(kind),
      log,
      metrics: kubeMetrics,
      clock,
      ...(workers === undefined ? {} : { workers }),
    });
  }

  /** gather → decide → write */
  #reconcileOf(kind: Kind): Reconcile {
    return async (name, signal) => {
      const key = `${kind}/${name}`;
      const object = this.#options.resources.object(kind, name);
      if (object === undefined || object.metadata.deletionTimestamp !== undefined) return this.#forget(kind, name);
      const owner = await this.#decideOwner(object, signal);
      if (owner.kind === "theirs") return again(owner.againMs, "resync");
      const { status, writtenAtMs } = this.#options.writer.latest(object);
      const known = this.#gather(key, object, status);
      const facts = factsOf(known, this.#times);
      const { nowMs } = known;
      const now = new Date(this.#options.clock.wallMs()).toISOString().replace(/\.\d+Z$/u, "Z");
      const moments = { nowMs, now, pendingSinceMs: this.#pending(key, facts.isPublished, nowMs), writtenAtMs };
      const decision = decideStatus(facts, status, moments, this.#times);
      this.#remember(known, facts.rollout.kind === "programmed" && facts.isPublished);
      if (decision.kind === "write") await this.#write(known, decision.status, signal);
      const againMs = Math.min(decision.againMs ?? Number.POSITIVE_INFINITY, owner.againMs ?? Number.POSITIVE_INFINITY);
      return againMs === Number.POSITIVE_INFINITY ? done : again(againMs);
    };
  }

  /** Asks, or responds to, another installation that applies the object. */
  async #decideOwner(object: ResourceObject, signal: AbortSignal): Promise<OwnerDecision> {
    const { writer, installation, clock, events } = this.#options;
    const owner = decideOwner(installation, writer.latest(object).status, clock.wallMs());
    if (owner.conflict === undefined) return owner;
    await writer.writeConflict(object, owner.conflict, signal);
    if (owner.conflict !== "none") {
      events.record({
        regarding: regardingOf(object),
        type: "Warning",
        reason: conflictType,
        action: "Reconcile",
        note: owner.conflict.message,
      });
    }
    return owner;
  }

  #gather(key: string, object: ResourceObject, status: ResourceStatus | undefined): KnownObject {
    const { resources, desired, publications, pods, clock, installation, unavailable, rules } = this.#options;
    const resource = resources.resource(key);
    const compiled = desired()?.outcomes.get(key);
    const outcome = compiled !== undefined && compiled.resource === resource ? compiled : undefined;
    const publication = publications.of(key);
    const needs = publication === undefined ? [] : publications.needs(publication);
    const confirmedDigest = this.#confirmed.get(key);
    return {
      key,
      object,
      status,
      outcome,
      publication,
      needs,
      pods: pods(),
      confirmedDigest,
      nowMs: clock.nowMs(),
      installation,
      unavailable: unavailable(object.metadata.namespace),
      rules: object.kind === "MetricCatalog" ? rules(keyOf(object)) : "none",
    };
  }

  #remember({ key, needs, publication, nowMs }: KnownObject, isProgrammed: boolean): void {
    if (!isProgrammed || publication === undefined) {
      this.#waiting.set(
        key,
        needs.map(({ shard }) => shard),
      );
      return;
    }
    this.#waiting.delete(key);
    if (this.#confirmed.get(key) === publication.digest) return;
    this.#confirmed.set(key, publication.digest);
    this.#options.metrics.programmedSeconds.observe((nowMs - publication.atMs) / 1000);
  }

  async #write(known: KnownObject, status: ResourceStatus, signal: AbortSignal): Promise<void> {
    const { object, status: before, outcome, unavailable } = known;
    try {
      await this.#options.writer.write(object, status, signal);
    } catch (error) {
      // Deleted or replaced: the watch delivers the next object.
      if (isKubeError(error, "notFound")) return;
      // Its namespace becomes available first, which queues the object.
      if (unavailable !== undefined && isKubeError(error, "forbidden")) return;
      throw error;
    }
    const regarding = regardingOf(object);
    for (const transition of transitionsBetween(before, status, outcome?.result))
      this.#options.events.record({ ...transition, regarding, action: "Reconcile" });
  }

  #forget(kind: Kind, name: string): ReconcileResult {
    const key = `${kind}/${name}`;
    this.#waiting.delete(key);
    this.#confirmed.delete(key);
    this.#pendingSince.delete(key);
    this.#options.writer.forget(kind, name);
    return done;
  }

  /** Start of the object's wait for its publication; now, when it does not wait. */
  #pending(key: string, isPublished: boolean, nowMs: number): number {
    if (isPublished) this.#pendingSince.delete(key);
    else if (!this.#pendingSince.has(key)) this.#pendingSince.set(key, nowMs);
    return this.#pendingSince.get(key) ?? nowMs;
  }

  /** The object's digest, when its status at the start of the term was programmed. */
  #programmedBefore(object: ResourceObject): readonly (readonly [string, string])[] {
    const key = resourceKey(object.kind, object.metadata);
    const publication = this.#options.publications.of(key);
    if (publication === undefined || !isProgrammedIn(object.status, publication.part.config.generation)) return [];
    return [[key, publication.digest]];
  }
}

function regardingOf({ kind, metadata: { namespace, name, uid } }: ResourceObject): Regarding {
  return { apiVersion: apiVersionOf(resourceTypes[kind]), kind, namespace, name, uid };
}
