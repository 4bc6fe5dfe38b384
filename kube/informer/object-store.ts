import { keyOf, type KubeObject } from "../client/resource.ts";

/**
 * Origin of a change: the first list, the watch, or a later list that found a change that the watch missed.
 */
type Origin = "initial" | "watch" | "relist";

/** A change of one object. */
export interface ObjectChange<T> {
  /** `resync`: a relist found the object unchanged. */
  readonly kind: "added" | "updated" | "deleted" | "resync";
  /** `namespace/name`, or `name` if there is no namespace. */
  readonly key: string;
  /** The object now; for `deleted`, its last known version. */
  readonly object: T;
  /** The object before; for `updated` only. */
  readonly previous: T | undefined;
  readonly origin: Origin;
}

/** Objects by key. Deterministic; it returns the objects that it was given, and no caller may change them. */
export class ObjectStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>();

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  entries(): Iterable<readonly [key: string, object: T]> {
    return [...this.#objects];
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  /** Replaces all objects. An object that is not among the items is deleted. */
  replace(items: readonly T[], origin: Origin): readonly ObjectChange<T>[] {
    const keys = new Set(items.map(keyOf));
    const gone = [...this.#objects].filter(([key]) => !keys.has(key));
    return [
      ...gone.flatMap(([, object]) => this.remove(object, origin)),
      ...items.flatMap((object) => this.put(object, origin, "resync")),
    ];
  }

  /**
   * Stores one object. A stored object of that name with another uid was deleted meanwhile.
   *
   * @param same the change to report for an unchanged object; by default none
   */
  put(object: T, origin: Origin, same?: "resync"): readonly ObjectChange<T>[] {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    if (previous !== undefined && isSame(previous, object))
      return same === undefined ? [] : [{ kind: same, key, object: previous, previous: undefined, origin }];
    const isSuccessor = previous !== undefined && previous.metadata.uid !== object.metadata.uid;
    const ends = isSuccessor ? this.remove(previous, origin) : [];
    this.#objects.set(key, object);
    if (previous === undefined || isSuccessor)
      return [...ends, { kind: "added", key, object, previous: undefined, origin }];
    return [{ kind: "updated", key, object, previous, origin }];
  }

  /** Removes a deleted object, given in its last version. */
  remove(object: T, origin: Origin): readonly ObjectChange<T>[] {
    const key = keyOf(object);
    return this.#objects.delete(key) ? [{ kind: "deleted", key, object, previous: undefined, origin }] : [];
  }
}

function isSame(a: KubeObject, b: KubeObject): boolean {
  const { resourceVersion, uid } = a.metadata;
  return resourceVersion !== undefined && resourceVersion === b.metadata.resourceVersion && uid === b.metadata.uid;
}

/** Called for every change after the cache has it. Its errors are logged and counted, and have no other effect. */
export type ChangeHandler<T> = (change: ObjectChange<T>) => void | Promise<void>;

/** A set of handlers. A failing handler stops neither the others nor the caller. */
export class ChangeHandlers<T> {
  readonly #handlers = new Set<ChangeHandler<T>>();
  readonly #failed: (error: unknown, change: ObjectChange<T>) => void;

  constructor(failed: (error: unknown, change: ObjectChange<T>) => void) {
    this.#failed = failed;
  }

  add(handler: ChangeHandler<T>): void {
    this.#handlers.add(handler);
  }

  /** Calls all handlers for one change after the other, until the signal is aborted. */
  callAll(changes: readonly ObjectChange<T>[], signal: AbortSignal): void {
    for (const change of changes) {
      for (const handler of this.#handlers) {
        if (signal.aborted) return;
        this.call(handler, change);
      }
    }
  }

  /** Calls one handler. */
  call(handler: ChangeHandler<T>, change: ObjectChange<T>): void {
    const failed = (error: unknown): void => this.#failed(error, change);
    try {
      Promise.resolve(handler(change)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}
