import type { KubeObject } from "../../kube/client/resource.ts";
import type { ChangeHandler } from "../../kube/informer/change-handlers.ts";
import { Informer, type InformerHealth, type InformerOptions } from "../../kube/informer/informer.ts";

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
