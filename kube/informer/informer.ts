// A cache of the objects of one type, over a reflector. It reconciles nothing.
import type { Logger } from "pino";
import { describeError, isKubeError } from "../client/kube-error.ts";
import { keyOf, type KubeObject } from "../client/resource.ts";
import type { WatchEvent } from "../client/watch.ts";
import { type Clock, systemClock } from "../../limits/clock.ts";
import type { KubeMetrics } from "../metrics.ts";
import type { Priority } from "../queue/queue-state.ts";
import { isRejection, type NextWatch, type WatchEnd } from "../reflector/next-watch.ts";
import { Reflector, type ReflectorOptions, silenceMsDefault } from "../reflector/reflector.ts";
import { type ChangeHandler, ChangeHandlers, type ObjectChange, ObjectStore } from "./object-store.ts";

export interface InformerOptions<T> extends ReflectorOptions {
  readonly log: Logger;
  readonly metrics: KubeMetrics;
  /** Label of its metrics and logs. @default the type's plural */
  readonly name?: string;
  /**
   * Reduces an object before it is cached. @default removes `metadata.managedFields` only
   */
  readonly trim?: (object: T, known: T | undefined) => T;
}

/** Health of an informer. */
export interface InformerHealth {
  readonly synced: boolean;
  /** Milliseconds since the last data from the server, bookmarks included. */
  readonly lastEventAgeMs: number;
  /** False while a watch is dead: no data for twice the allowed silence of a watch. */
  readonly live: boolean;
  /** True while the server rejects its lists. The cache keeps the last known objects, or none before the first list. */
  readonly rejected: boolean;
  /** The last failure, masked; absent after a success. */
  readonly lastError: string | undefined;
}

/** Consecutive lists that must fail with a response before the server counts as rejecting them. */
const rejectionsMin = 5;

/** Keeps a cache of the objects of one type. It runs until {@link stop}. */
export class Informer<T extends KubeObject> {
  readonly name: string;
  readonly #options: InformerOptions<T>;
  readonly #clock: Clock;
  readonly #reflector: Reflector<T>;
  readonly #store = new ObjectStore<T>();
  readonly #handlers: ChangeHandlers<T>;
  readonly #stopping = new AbortController();
  readonly #synced = Promise.withResolvers<boolean>();
  readonly #settled = Promise.withResolvers<boolean>();
  readonly #stateHandlers: Array<() => void> = [];
  #hasSynced = false;
  #isRejected = false;
  #running: Promise<void> | undefined;
  #receivedAtMs: number;
  #lastError: string | undefined;

  constructor(options: InformerOptions<T>) {
    this.name = options.name ?? options.type.plural;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#reflector = new Reflector<T>(options, {
      onList: (objects) => this.#replace(objects),
      onEvent: (event) => this.#take(event),
      onStale: ({ type }) => {
        if (type !== "BOOKMARK") options.metrics.staleEvents.inc({ informer: this.name });
      },
      onData: () => {
        this.#receivedAtMs = this.#clock.nowMs();
      },
      onEnd: (end, next) => this.#report(end, next),
    });
    this.#handlers = new ChangeHandlers((error, { key }) => this.#handlerFailed(error, key));
    this.#receivedAtMs = this.#clock.nowMs();
  }

  /** Starts listing and watching. Must be called once. */
  start(): void {
    if (this.#running !== undefined) throw new Error(`informer ${this.name} was started before`);
    this.#options.metrics.ages.add(this.#measure);
    this.#running = this.#reflector.run(this.#stopping.signal);
  }

  /** Ends the watch; no handler is called afterwards. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#synced.resolve(false);
    this.#settled.resolve(false);
    this.#options.metrics.ages.delete(this.#measure);
    await this.#running;
  }

  /** Returns true once the cache holds a whole list and every handler was called for it. */
  hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves with true once {@link hasSynced}, with false when stopped before. */
  async whenSynced(): Promise<boolean> {
    return await this.#synced.promise;
  }

  /** Resolves with true once it has synced or the server rejects its lists, with false when stopped before. */
  async whenSettled(): Promise<boolean> {
    return await this.#settled.promise;
  }

  /** Calls the handler when the first list arrives, and when the server begins or ceases to reject lists. */
  onState(handler: () => void): void {
    this.#stateHandlers.push(handler);
  }

  /** Calls the handler for every cached object and for every later change. */
  onChange(handler: ChangeHandler<T>): void {
    for (const [key, object] of this.#store.entries())
      this.#handlers.call(handler, { kind: "added", key, object, previous: undefined, origin: "initial" });
    this.#handlers.add(handler);
  }

  /** The cached object, by `namespace/name`. */
  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): readonly T[] {
    return this.#store.list();
  }

  health(): InformerHealth {
    const lastEventAgeMs = this.#clock.nowMs() - this.#receivedAtMs;
    return {
      synced: this.#hasSynced,
      lastEventAgeMs,
      live: lastEventAgeMs <= 2 * this.#silenceMs,
      rejected: this.#isRejected,
      lastError: this.#lastError,
    };
  }

  get #silenceMs(): number {
    return this.#options.silenceMs ?? silenceMsDefault;
  }

  #replace(objects: readonly T[]): void {
    const origin = this.#hasSynced ? "relist" : "initial";
    const trimmed = objects.map((object) => this.#trimmed(object));
    this.#dispatch(this.#store.replace(trimmed, origin));
  }

  #take({ type, object }: WatchEvent<T>): void {
    this.#lastError = undefined;
    if (type !== "BOOKMARK") this.#dispatch(this.#changesOf(type, this.#trimmed(object)));
  }

  #changesOf(type: "ADDED" | "MODIFIED" | "DELETED", object: T): readonly ObjectChange<T>[] {
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

  #dispatch(changes: readonly ObjectChange<T>[]): void {
    this.#handlers.callAll(changes, this.#stopping.signal);
  }

  #handlerFailed(error: unknown, key: string): void {
    this.#options.metrics.handlerErrors.inc({ informer: this.name });
    this.#options.log.error({ informer: this.name, key, error: describeError(error) }, "handler of a change failed");
  }

  #report(end: WatchEnd, { waitMs, failures }: NextWatch): void {
    const { metrics, log } = this.#options;
    const informer = this.name;
    switch (end.kind) {
      case "listed":
        metrics.lists.inc({ informer });
        this.#lastError = undefined;
        if (!this.#hasSynced) log.info({ informer, objects: this.#store.size }, "synced");
        this.#settle(false);
        return;
      case "relist":
      case "closed":
        metrics.watchEnds.inc({ informer, reason: end.kind });
        return;
      case "failed":
        this.#lastError = describeError(end.error);
        metrics.watchEnds.inc({ informer, reason: isKubeError(end.error) ? end.error.kind : "unknown" });
        log.warn(
          { informer, during: end.during, failures, waitMs, error: this.#lastError },
          "list or watch interrupted",
        );
        this.#responded(end, failures);
    }
  }

  /** Handles a failure that the server reported. It is alive, unlike a connection without a response. */
  #responded({ during, error }: WatchEnd & { readonly kind: "failed" }, failures: number): void {
    if (!isKubeError(error) || error.status === undefined || error.kind === "unauthorized") return;
    this.#receivedAtMs = this.#clock.nowMs();
    if (during === "list" && (isRejection(error) || failures >= rejectionsMin)) this.#settle(true);
  }

  #settle(isRejected: boolean): void {
    const isNews = this.#isRejected !== isRejected || (!isRejected && !this.#hasSynced);
    this.#isRejected = isRejected;
    if (!isRejected) {
      this.#hasSynced = true;
      this.#synced.resolve(true);
    }
    this.#settled.resolve(true);
    if (isNews) for (const handler of this.#stateHandlers) handler();
  }

  readonly #measure = (): void => {
    const labels = { informer: this.name };
    this.#options.metrics.cachedObjects.set(labels, this.#store.size);
    this.#options.metrics.lastEventAge.set(labels, this.health().lastEventAgeMs / 1000);
  };
}

/** The priority of a change in a queue: edits come before resyncs. */
export function priorityOf(change: Pick<ObjectChange<unknown>, "kind" | "origin">): Priority {
  return change.origin === "initial" || change.kind === "resync" ? "resync" : "edit";
}
