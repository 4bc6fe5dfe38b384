import type { KubeObject } from "../../kube/client/resource.ts";
import type { ChangeHandler } from "../../kube/informer/object-store.ts";
import { Informer, type InformerHealth, type InformerOptions } from "../../kube/informer/informer.ts";

/** The watched namespaces: a list, or all. */
export type WatchedNamespaces = readonly string[] | "all";

/** Stands for every namespace where a namespace is named. */
export const everyNamespace = "*";

/** Informers of one type that are started, stopped and observed together. */
class InformerSet<T extends KubeObject> {
  /** By the namespace or the name that each one watches. */
  protected readonly informers: ReadonlyMap<string, Informer<T>>;

  constructor(informers: readonly (readonly [string, Informer<T>])[]) {
    this.informers = new Map(informers);
  }

  start(): void {
    for (const informer of this.informers.values()) informer.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.informers.values()].map((informer) => informer.stop()));
  }

  /** Resolves with true once all informers hold a whole list, with false when stopped before. */
  async whenSynced(): Promise<boolean> {
    const synced = await Promise.all([...this.informers.values()].map((informer) => informer.whenSynced()));
    return synced.every(Boolean);
  }

  /**
   * Resolves with true once each informer holds a whole list or the server rejects its lists, with false when stopped
   * before.
   */
  async whenSettled(): Promise<boolean> {
    const settled = await Promise.all([...this.informers.values()].map((informer) => informer.whenSettled()));
    return settled.every(Boolean);
  }

  /** Calls the handler for every cached object and every later change. */
  onChange(handler: ChangeHandler<T>): void {
    for (const informer of this.informers.values()) informer.onChange(handler);
  }

  /** By the name of each informer. */
  health(): ReadonlyMap<string, InformerHealth> {
    return new Map([...this.informers.values()].map((informer) => [informer.name, informer.health()]));
  }
}

/**
 * All objects of one type in the watched namespaces: one informer per namespace, or one for all. With one per
 * namespace, a Role in each namespace is enough.
 */
export class WatchedSet<T extends KubeObject> extends InformerSet<T> {
  constructor(
    namespaces: WatchedNamespaces,
    options: Omit<InformerOptions<T>, "namespace"> & { readonly name: string },
  ) {
    super(
      namespaces === "all"
        ? [[everyNamespace, new Informer<T>(options)]]
        : [...new Set(namespaces)].map((namespace) => [
            namespace,
            new Informer<T>({ ...options, namespace, name: `${options.name} in ${namespace}` }),
          ]),
    );
  }

  /** True for a watched namespace whose objects were not listed yet: nothing says which of them exist. */
  isUnlisted(namespace: string): boolean {
    return this.#of(namespace)?.hasSynced() === false;
  }

  /** The error of a server that does not let list the namespace, or every one; undefined while it can be listed. */
  rejectionOf(namespace: string): string | undefined {
    const health = this.#of(namespace)?.health();
    return health?.rejected === true ? (health.lastError ?? "") : undefined;
  }

  /** Calls the handler when a namespace was listed first, and when the server begins or ceases to reject its lists. */
  onState(handler: (namespace: string) => void): void {
    for (const [namespace, informer] of this.informers) informer.onState(() => handler(namespace));
  }

  /** The cached object, by `namespace/name`. */
  get(key: string): T | undefined {
    return this.#of(key.slice(0, Math.max(0, key.indexOf("/"))))?.get(key);
  }

  list(): readonly T[] {
    return [...this.informers.values()].flatMap((informer) => informer.list());
  }

  #of(namespace: string): Informer<T> | undefined {
    return this.informers.get(everyNamespace) ?? this.informers.get(namespace);
  }
}

/** The objects of some names in one namespace: one informer per name, so that rights to these names are enough. */
export class NamedSet<T extends KubeObject> extends InformerSet<T> {
  /** @param options `name` is the first part of the name of each informer */
  constructor(
    names: readonly string[],
    options: Omit<InformerOptions<T>, "fieldSelector"> & { readonly name: string; readonly namespace: string },
  ) {
    super(
      names.map((name) => [
        name,
        new Informer<T>({ ...options, name: `${options.name} ${name}`, fieldSelector: `metadata.name=${name}` }),
      ]),
    );
  }
}
