import { type ChangeHandler, type ObjectChange, ObjectStore } from "../../../kube/informer/object-store.ts";
import type { KubeObject } from "../../../kube/client/resource.ts";

/** A set of objects whose changes a test reports, as an informer would. */
export class ScriptedSet<T extends KubeObject> {
  readonly #store = new ObjectStore<T>();
  readonly #handlers: Array<ChangeHandler<T>> = [];
  /** Namespaces that cannot be listed. */
  readonly unlisted = new Set<string>();
  #version = 100;

  onChange(handler: ChangeHandler<T>): void {
    this.#handlers.push(handler);
  }

  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  isUnlisted(namespace: string): boolean {
    return this.unlisted.has(namespace);
  }

  list(): readonly T[] {
    return this.#store.list();
  }

  /** The object is so now, in a new version unless it brings one. Returns the stored object. */
  put(object: T): T {
    this.#version += 1;
    const versioned = { ...object, metadata: { resourceVersion: String(this.#version), ...object.metadata } };
    this.#report(this.#store.put(versioned, "watch"));
    return versioned;
  }

  /** The object is gone. */
  remove(key: string): void {
    const object = this.#store.get(key);
    this.#version += 1;
    if (object === undefined) return;
    this.#report(
      this.#store.remove(
        { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } },
        "watch",
      ),
    );
  }

  #report(changes: readonly ObjectChange<T>[]): void {
    for (const change of changes) for (const handler of this.#handlers) void handler(change);
  }
}
