import type { Logger } from "pino";
import type { BackoffOptions } from "../backoff.ts";
import { type ChangeHandler, ChangeHandlers } from "./change-handlers.ts";
import type { KubeClient, Selection } from "../client/client.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type WatchEnd, nextWatch } from "./next-watch.ts";
import { describeError, isKubeError } from "../client/kube-error.ts";
import { listAll } from "./list-all.ts";
import type { KubeMetrics } from "../metrics.ts";
import { type Change, type Indexers, ObjectStore } from "./object-store.ts";
import { Outage } from "../outage.ts";
import type { Priority } from "../queue/queue-state.ts";
import { type KubeObject, type ResourceType, keyOf } from "../client/resource.ts";
import { isLater } from "./resource-version.ts";
import { singleTry } from "../client/retry.ts";
import type { WatchEvent } from "../client/watch-frames.ts";

export interface InformerOptions<T> extends Selection {
  readonly client: KubeClient;
  readonly type: ResourceType;
  readonly log: Logger;
  readonly metrics: KubeMetrics;
  /** Label of its metrics and logs. @default the type's plural */
  readonly name?: string;
  /** Read `metadata` only; the right thing for Secrets. @default false */
  readonly metadataOnly?: boolean;
  /**
   * What to keep of an object, beside what was known of it until now. @default everything but `metadata.managedFields`
   */
  readonly trim?: (object: T, known: T | undefined) => T;
  /** @default none */
  readonly indexers?: Indexers<T>;
  /** Pause between two whole lists, in milliseconds; heals what a watch has missed. @default 20 min, 10 % jitter */
  readonly relistMs?: number;
  /**
   * A watch without one byte for so long is given up. Whatever else happens, the server sends a bookmark now and then:
   * the first bookmark comes within two minutes, then one a minute.
   *
   * @default 150 s
   */
  readonly silenceMs?: number;
  /** Objects per page of a list. @default 500 */
  readonly pageSize?: number;
  /** @default 200 ms doubling to 30 s, 30 % jitter */
  readonly backoff?: BackoffOptions;
  /** Its end ends the waits after failures. @default none ever ends */
  readonly outage?: Outage;
  /** @default the machine's */
  readonly clock?: Clock;
  /** @default Math.random */
  readonly random?: () => number;
}

/** How well an informer knows what is true. */
export interface InformerHealth {
  readonly synced: boolean;
  /** Milliseconds since the server was last heard, be it a bookmark. */
  readonly lastEventAgeMs: number;
  /** False while a watch is dead: nothing was heard for twice the silence that a watch may keep. */
  readonly live: boolean;
  /** Failed lists and watches in a row. */
  readonly failures: number;
  /** The last failure, masked; absent after a success. */
  readonly lastError: string | undefined;
}

const relistMsDefault = 20 * 60_000;
const relistJitter = 0.1;
const silenceMsDefault = 150_000;
const pageSizeDefault = 500;
const listTimeoutMs = 60_000;
/** The server is asked to end a watch after five to ten minutes, each at another time. */
const watchSecondsMin = 300;
/** A watch that lived so long was in order, even if it brought nothing. */
const livedMsMin = 15_000;
const backoffDefault: BackoffOptions = { baseMs: 200, maxMs: 30_000, jitter: 0.3 };

/**
 * Keeps a cache of all objects of one type true, by a list and then watches that each go on where the last one ended.
 * Never gives up: it ends only by {@link stop}.
 */
export class Informer<T extends KubeObject> {
  readonly name: string;
  readonly #options: InformerOptions<T>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #outage: Outage;
  readonly #store: ObjectStore<T>;
  readonly #handlers: ChangeHandlers<T>;
  readonly #stopping = new AbortController();
  readonly #synced = Promise.withResolvers<boolean>();
  #hasSynced = false;
  #running: Promise<void> | undefined;
  /** State up to which everything is known. */
  #version = "";
  #heardAtMs: number;
  #relistAtMs = 0;
  #failures = 0;
  #lastError: string | undefined;

  constructor(options: InformerOptions<T>) {
    this.name = options.name ?? options.type.plural;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#outage = options.outage ?? new Outage(this.#clock, this.#random);
    this.#store = new ObjectStore(options.indexers ?? {});
    this.#handlers = new ChangeHandlers((error, { key }) => this.#handlerFailed(error, key));
    this.#heardAtMs = this.#clock.nowMs();
  }

  /** Starts listing and watching. To be called once. */
  start(): void {
    if (this.#running !== undefined) throw new Error(`informer ${this.name} was started before`);
    this.#options.metrics.ages.add(this.#measure);
    this.#running = this.#run();
  }

  /** Ends the watch; no handler is called afterwards. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#synced.resolve(false);
    this.#options.metrics.ages.delete(this.#measure);
    await this.#running;
  }

  /** Whether the cache holds a whole list and every handler has seen it. */
  hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves once {@link hasSynced}; with false when stopped before. */
  async whenSynced(): Promise<boolean> {
    return await this.#synced.promise;
  }

  /** Calls the handler for every object that is known and every change to come. Returns what ends that. */
  onChange(handler: ChangeHandler<T>): () => void {
    for (const [key, object] of this.#store.entries()) {
      this.#handlers.call(handler, { kind: "added", key, object, previous: undefined, origin: "initial" });
    }
    return this.#handlers.add(handler);
  }

  /** The object as last heard of, by `namespace/name`. */
  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): readonly T[] {
    return this.#store.list();
  }

  /** @throws TypeError when there is no such index */
  byIndex(name: string, value: string): readonly T[] {
    return this.#store.byIndex(name, value);
  }

  health(): InformerHealth {
    const lastEventAgeMs = this.#clock.nowMs() - this.#heardAtMs;
    return {
      synced: this.#hasSynced,
      lastEventAgeMs,
      live: lastEventAgeMs <= 2 * this.#silenceMs,
      failures: this.#failures,
      lastError: this.#lastError,
    };
  }

  get #silenceMs(): number {
    return this.#options.silenceMs ?? silenceMsDefault;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let kind: "list" | "watch" = "list";
    while (!signal.aborted) {
      const end: WatchEnd = kind === "list" ? await this.#list() : await this.#watch();
      if (signal.aborted) return;
      const turn = nextWatch(end, this.#failures, this.#options.backoff ?? backoffDefault, this.#random);
      this.#report(end, turn.waitMs);
      this.#failures = turn.failures;
      kind = turn.kind;
      const atLeastMs = end.kind === "failed" && isKubeError(end.error) ? (end.error.retryAfterMs ?? 0) : 0;
      if (await this.#outage.pause(turn.waitMs, signal, atLeastMs)) this.#failures = 0;
    }
  }

  async #list(): Promise<WatchEnd> {
    const { client, type, relistMs = relistMsDefault, pageSize = pageSizeDefault } = this.#options;
    const { signal } = this.#stopping;
    try {
      const options = { ...this.#selection(), limit: pageSize, retry: singleTry(listTimeoutMs), signal };
      const { items, resourceVersion } = await listAll<T>(client, type, options);
      this.#heard();
      this.#version = resourceVersion;
      this.#relistAtMs = this.#clock.nowMs() + relistMs * (1 - relistJitter * this.#random());
      const origin = this.#hasSynced ? "relist" : "initial";
      this.#dispatch(
        this.#store.replace(
          items.map((item) => this.#trimmed(item)),
          origin,
        ),
      );
      return { kind: "listed" };
    } catch (error) {
      return { kind: "failed", during: "list", error };
    }
  }

  async #watch(): Promise<WatchEnd> {
    const { client, type } = this.#options;
    const startedMs = this.#clock.nowMs();
    const relisting = new AbortController();
    const cancel = this.#clock.after(this.#relistAtMs - startedMs, () => relisting.abort());
    const lived = (): boolean => this.#clock.nowMs() - startedMs >= livedMsMin;
    let news = 0;
    try {
      const events = client.watch<T>(type, {
        ...this.#selection(),
        resourceVersion: this.#version,
        timeoutSeconds: Math.round(watchSecondsMin * (1 + this.#random())),
        silenceMs: this.#silenceMs,
        onBytes: () => this.#heard(),
        signal: AbortSignal.any([this.#stopping.signal, relisting.signal]),
      });
      for await (const event of events) news += this.#take(event) ? 1 : 0;
      return { kind: "closed", early: news === 0 && !lived() };
    } catch (error) {
      if (lived()) this.#failures = 0;
      return relisting.signal.aborted ? { kind: "relist" } : { kind: "failed", during: "watch", error };
    } finally {
      cancel();
    }
  }

  /** Whether the event was news: events come in the order of their versions, so an older one was known before. */
  #take({ type, object }: WatchEvent<T>): boolean {
    const { resourceVersion = "" } = object.metadata;
    if (isLater(resourceVersion, this.#version) === false) {
      if (type !== "BOOKMARK") this.#options.metrics.staleEvents.inc({ informer: this.name });
      return false;
    }
    if (resourceVersion !== "") this.#version = resourceVersion;
    this.#failures = 0;
    this.#lastError = undefined;
    if (type !== "BOOKMARK") this.#dispatch(this.#changesOf(type, this.#trimmed(object)));
    return true;
  }

  #changesOf(type: "ADDED" | "MODIFIED" | "DELETED", object: T): readonly Change<T>[] {
    return type === "DELETED" ? this.#store.remove(object, "watch") : this.#store.put(object, "watch");
  }

  #trimmed(object: T): T {
    const { managedFields: _managed, ...metadata } = object.metadata;
    const { trim } = this.#options;
    const slim = { ...object, metadata };
    try {
      return trim === undefined ? slim : trim(slim, this.#store.get(keyOf(slim)));
    } catch (error) {
      this.#handlerFailed(error, "trim");
      return slim;
    }
  }

  #dispatch(changes: readonly Change<T>[]): void {
    this.#handlers.tell(changes, this.#stopping.signal);
  }

  #handlerFailed(error: unknown, key: string): void {
    this.#options.metrics.handlerErrors.inc({ informer: this.name });
    this.#options.log.error({ informer: this.name, key, error: describeError(error) }, "a handler failed");
  }

  #selection(): Selection & { readonly metadataOnly: boolean } {
    const { namespace, labelSelector, fieldSelector, metadataOnly = false } = this.#options;
    return {
      metadataOnly,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }

  #heard(): void {
    this.#heardAtMs = this.#clock.nowMs();
  }

  #report(end: WatchEnd, waitMs: number): void {
    const { metrics, log } = this.#options;
    const informer = this.name;
    switch (end.kind) {
      case "listed":
        metrics.lists.inc({ informer });
        this.#lastError = undefined;
        if (!this.#hasSynced) log.info({ informer, objects: this.#store.size }, "synced");
        this.#hasSynced = true;
        this.#synced.resolve(true);
        return;
      case "relist":
      case "closed":
        metrics.watchEnds.inc({ informer, reason: end.kind });
        return;
      case "failed":
        this.#lastError = describeError(end.error);
        metrics.watchEnds.inc({ informer, reason: isKubeError(end.error) ? end.error.kind : "unknown" });
        log.warn(
          { informer, during: end.during, failures: this.#failures + 1, waitMs, error: this.#lastError },
          "interrupted",
        );
    }
  }

  readonly #measure = (): void => {
    const labels = { informer: this.name };
    this.#options.metrics.cachedObjects.set(labels, this.#store.size);
    this.#options.metrics.lastEventAge.set(labels, this.health().lastEventAgeMs / 1000);
  };
}

/** The priority that a change deserves in a queue: what somebody did goes before a look at everything. */
export function priorityOf(change: Pick<Change<unknown>, "kind" | "origin">): Priority {
  return change.origin === "initial" || change.kind === "resync" ? "resync" : "edit";
}
