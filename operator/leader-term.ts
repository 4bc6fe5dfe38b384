import { ResourceControllers, type ResourceControllersOptions } from "./controllers/resource-controllers.ts";
import type { ResourceChange } from "./inventory/resources.ts";
import type { WatchedNamespaces, WatchedSet } from "./inventory/watched-set.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { OperatorMetrics } from "./metrics.ts";
import { type EndpointSlice, listedPods, podAddresses } from "./observe/endpoints.ts";
import { PodRegistry } from "./observe/pod-registry.ts";
import type { RuntimePods } from "./options.ts";
import type { Publications } from "./publish/publications.ts";
import { Publisher, type PublisherOptions } from "./publish/publisher.ts";
import type { OwnedRules } from "./rules/decide-rule.ts";
import { RuleController } from "./rules/rule-controller.ts";

interface TermOptions extends Omit<ResourceControllersOptions, "pods" | "rules"> {
  readonly publisher: PublisherOptions;
  readonly runtime: RuntimePods;
  /** Of the runtime's Service; undefined when the pods are listed by hand. */
  readonly slices: WatchedSet<EndpointSlice> | undefined;
  /** Alert rules that the operator writes; undefined when it writes none. */
  readonly ownedRules: OwnedRules | undefined;
  readonly client: KubeClient;
  readonly watched: WatchedNamespaces;
  readonly token: () => string;
  readonly random: () => number;
  readonly metrics: OperatorMetrics;
}

/** All that only the leader does, from the begin of its term to the end: publish, observe pods, write statuses. */
export class Term {
  readonly controllers: ResourceControllers;
  readonly publisher: Publisher;
  readonly #options: TermOptions;
  readonly #pods: PodRegistry;
  readonly #rules: RuleController | undefined;

  constructor(options: TermOptions) {
    this.#options = options;
    const { clock, random, token, ownedRules } = options;
    this.#pods = new PodRegistry({ clock, random, token, onNews: (news) => this.controllers.onNews(news) });
    const rules = (name: string) => (ownedRules === undefined ? "none" : this.#rules?.facts(name));
    this.controllers = new ResourceControllers({ ...options, pods: () => this.#pods.pods(), rules });
    const catalogOf: Publications["catalog"] = (name, uid) => options.publications.catalog(name, uid);
    const onFacts = (key: string): void => this.controllers.enqueue(key);
    this.#rules =
      ownedRules === undefined ? undefined : new RuleController({ ...options, rules: ownedRules, catalogOf, onFacts });
    this.publisher = new Publisher(options.publisher);
  }

  /** @param signal aborted when the term ends */
  start(signal: AbortSignal): void {
    this.onSlices();
    this.publisher.start(signal);
    this.controllers.start();
    this.#rules?.start();
  }

  /** Handles a changed object. */
  onResource({ kind, key, change }: ResourceChange): void {
    this.controllers.onObject(kind, key, change);
    if (kind === "MetricCatalog") this.#rules?.onCatalog(key, change);
  }

  /** Queues an object whose compiled or published form changed. @param key `<Kind>/<namespace>/<name>` */
  enqueue(key: string): void {
    this.controllers.enqueue(key);
    if (key.startsWith("MetricCatalog/")) this.#rules?.enqueue(key.slice("MetricCatalog/".length));
  }

  /** Handles changed endpoints of the runtime. */
  onSlices(): void {
    const { runtime, slices } = this.#options;
    this.#pods.set("urls" in runtime ? listedPods(runtime.urls) : podAddresses(slices?.list() ?? [], runtime.portName));
  }

  /** Sets the gauge of pods; called before each scrape. */
  measure(): void {
    const { list } = this.#pods.pods();
    const answering = list.filter(({ report, silence }) => report !== undefined && silence === undefined).length;
    this.#options.metrics.pods.set({ answers: "true" }, answering);
    this.#options.metrics.pods.set({ answers: "false" }, list.length - answering);
  }

  /** Resolves when the last write has ended; the signal must have been aborted. */
  async stop(): Promise<void> {
    await Promise.all([this.publisher.stopped(), this.controllers.stop(0), this.#pods.stop(), this.#rules?.stop()]);
  }
}
