import { ResourceControllers, type ResourceControllersOptions } from "./controllers/resource-controllers.ts";
import type { WatchedSet } from "./inventory/watched-set.ts";
import type { OperatorMetrics } from "./metrics.ts";
import { type EndpointSlice, listedPods, podAddresses } from "./observe/endpoints.ts";
import { PodRegistry } from "./observe/pod-registry.ts";
import type { RuntimePods } from "./options.ts";
import { Publisher, type PublisherOptions } from "./publish/publisher.ts";

interface TermOptions extends Omit<ResourceControllersOptions, "pods"> {
  readonly publisher: PublisherOptions;
  readonly runtime: RuntimePods;
  /** Of the runtime's Service; undefined when the pods are listed by hand. */
  readonly slices: WatchedSet<EndpointSlice> | undefined;
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

  constructor(options: TermOptions) {
    this.#options = options;
    const { clock, random, token } = options;
    this.#pods = new PodRegistry({ clock, random, token, onNews: (news) => this.controllers.onNews(news) });
    this.controllers = new ResourceControllers({ ...options, pods: () => this.#pods.pods() });
    this.publisher = new Publisher(options.publisher);
  }

  /** @param signal aborted when the term ends */
  start(signal: AbortSignal): void {
    this.onSlices();
    this.publisher.start(signal);
    this.controllers.start();
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
    await Promise.all([this.publisher.stopped(), this.controllers.stop(0), this.#pods.stop()]);
  }
}
