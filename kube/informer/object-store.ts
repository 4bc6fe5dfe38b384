import { type KubeObject, keyOf } from "../client/resource.ts";

/**
 * How a change became known: by the first list, by the watch, or by a later list that found what the watch had missed.
 */
type Origin = "initial" | "watch" | "relist";

/** What happened to one object. */
export interface Change<T> {
  /** `resync`: a relist found it as it was. */
  readonly kind: "added" | "updated" | "deleted" | "resync";
  /** `namespace/name`, or `name` where there is no namespace. */
  readonly key: string;
  /** The object now; for `deleted`, the last that is known of it. */
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

  /** The whole truth: what is not in the items is gone. */
  replace(items: readonly T[], origin: Origin): readonly Change<T>[] {
    const keys = new Set(items.map(keyOf));
    const gone = [...this.#objects].filter(([key]) => !keys.has(key));
    return [
      ...gone.flatMap(([, object]) => this.remove(object, origin)),
      ...items.flatMap((object) => this.put(object, origin, "resync")),
    ];
  }

  /**
   * One object as it is now. An object of that name with another uid was deleted in between.
   *
   * @param same what to report of an object that is as it was; by default nothing
   */
  put(object: T, origin: Origin, same?: "resync"): readonly Change<T>[] {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    if (previous !== undefined && isSame(previous, object)) {
      return same === undefined ? [] : [{ kind: same, key, object: previous, previous: undefined, origin }];
    }
    const isSuccessor = previous !== undefined && previous.metadata.uid !== object.metadata.uid;
    const ends = isSuccessor ? this.remove(previous, origin) : [];
    this.#objects.set(key, object);
    if (previous === undefined || isSuccessor)
      return [...ends, { kind: "added", key, object, previous: undefined, origin }];
    return [{ kind: "updated", key, object, previous, origin }];
  }

  /** One object as it last was; it is gone. */
  remove(object: T, origin: Origin): readonly Change<T>[] {
    const key = keyOf(object);
    return this.#objects.delete(key) ? [{ kind: "deleted", key, object, previous: undefined, origin }] : [];
  }
}

function isSame(a: KubeObject, b: KubeObject): boolean {
  const { resourceVersion, uid } = a.metadata;
  return resourceVersion !== undefined && resourceVersion === b.metadata.resourceVersion && uid === b.metadata.uid;
}
