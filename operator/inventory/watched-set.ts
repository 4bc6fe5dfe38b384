import type { KubeObject } from "../../kube/client/resource.ts";
import type { ChangeHandler } from "../../kube/informer/object-store.ts";
import { Informer, type InformerHealth, type InformerOptions } from "../../kube/informer/informer.ts";

/** The watched namespaces: a list, or all. */
export type WatchedNamespaces = readonly string[] | "all";

/** Stands for every namespace where a namespace is named. */
export const everyNamespace = "*";

/**
 * All objects of one type in the watched namespaces: one informer per namespace, or one for all. With one per
 * namespace, a Role in each namespace is enough.
 */
export class WatchedSet<T extends KubeObject> {
  readonly #informers: ReadonlyMap<string, Informer<T>>;
  readonly #everywhere: Informer<T> | undefined;

  constructor(
    namespaces: WatchedNamespaces,
    options: Omit<InformerOptions<T>, "namespace"> & { readonly name: string },
  ) {
    this.#everywhere = namespaces === "all" ? new Informer<T>(options) : undefined;
    const named = namespaces === "all" ? [] : [...new Set(namespaces)];
    this.#informers = new Map(
      named.map((namespace) => [
        namespace,
        new Informer<T>({ ...options, namespace, name: `${options.name} in ${namespace}` }),
      ]),
    );
  }

  start(): void {
    for (const informer of this.#all()) informer.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all().map((informer) => informer.stop()));
  }

  hasSynced(): boolean {
    return this.#all().every((informer) => informer.hasSynced());
  }

  /** Resolves with true once all informers hold a whole list, with false when stopped before. */
  async whenSynced(): Promise<boolean> {
    const synced = await Promise.all(this.#all().map((informer) => informer.whenSynced()));
    return synced.every(Boolean);
  }

  /**
   * Resolves with true once each informer holds a whole list or the server rejects its lists, with false when stopped
   * before.
   */
  async whenSettled(): Promise<boolean> {
    const settled = await Promise.all(this.#all().map((informer) => informer.whenSettled()));
    return settled.every(Boolean);
  }

  /** True for a watched namespace whose objects were not listed yet: nothing says which of them exist. */
  isUnlisted(namespace: string): boolean {
    return (this.#everywhere ?? this.#informers.get(namespace))?.hasSynced() === false;
  }

  /** The error of a server that does not let list the namespace, or every one; undefined while it can be listed. */
  rejectionOf(namespace: string): string | undefined {
    const health = (this.#everywhere ?? this.#informers.get(namespace))?.health();
    return health?.rejected === true ? (health.lastError ?? "") : undefined;
  }

  /** Calls the handler when a namespace was listed first, and when the server begins or ceases to reject its lists. */
  onState(handler: (namespace: string) => void): void {
    for (const [namespace, informer] of this.#informers) informer.onState(() => handler(namespace));
    this.#everywhere?.onState(() => handler(everyNamespace));
  }

  /** Calls the handler for every cached object and every later change. */
  onChange(handler: ChangeHandler<T>): void {
    for (const informer of this.#all()) informer.onChange(handler);
  }

  /** The cached object, by `namespace/name`. */
  get(key: string): T | undefined {
    const namespace = key.slice(0, Math.max(0, key.indexOf("/")));
    return (this.#everywhere ?? this.#informers.get(namespace))?.get(key);
  }

  list(): readonly T[] {
    return this.#all().flatMap((informer) => informer.list());
  }

  /** By the name of each informer. */
  health(): ReadonlyMap<string, InformerHealth> {
    return new Map(this.#all().map((informer) => [informer.name, informer.health()]));
  }

  #all(): readonly Informer<T>[] {
    return this.#everywhere === undefined ? [...this.#informers.values()] : [this.#everywhere];
  }
}

/** The objects of some names in one namespace: one informer per name, so that rights to these names are enough. */
export class NamedSet<T extends KubeObject> {
  readonly #informers: readonly Informer<T>[];

  /** @param options `name` is the first part of the name of each informer */
  constructor(
    names: readonly string[],
    options: Omit<InformerOptions<T>, "fieldSelector"> & { readonly name: string; readonly namespace: string },
  ) {
    this.#informers = names.map(
      (name) =>
        new Informer<T>({ ...options, name: `${options.name} ${name}`, fieldSelector: `metadata.name=${name}` }),
    );
  }

  start(): void {
    for (const informer of this.#informers) informer.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.stop()));
  }

  /** Resolves with true once each name was looked up, with false when stopped before. */
  async whenSynced(): Promise<boolean> {
    const synced = await Promise.all(this.#informers.map((informer) => informer.whenSynced()));
    return synced.every(Boolean);
  }

  /** Resolves with true once each name was looked up or the server rejects that, with false when stopped before. */
  async whenSettled(): Promise<boolean> {
    const settled = await Promise.all(this.#informers.map((informer) => informer.whenSettled()));
    return settled.every(Boolean);
  }

  /** Calls the handler for every cached object and every later change. */
  onChange(handler: ChangeHandler<T>): void {
    for (const informer of this.#informers) informer.onChange(handler);
  }

  /** By the name of each informer. */
  health(): ReadonlyMap<string, InformerHealth> {
    return new Map(this.#informers.map((informer) => [informer.name, informer.health()]));
  }
}
