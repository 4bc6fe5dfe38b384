// Caches of resources and of the Secrets that they name. It does not check them.
import { apiVersion, type Kind, type Resource } from "../../crds/resource.ts";
import { resourceKey } from "../../crds/shards/shards.ts";
import type { ObjectChange } from "../../kube/informer/object-store.ts";
import { isPaused, kindsInOrder, pausedAnnotation, type ResourceObject } from "../resource-types.ts";
import type { WatchedSet } from "./watched-set.ts";

/** A change of one object of a kind. */
export interface ResourceChange {
  readonly kind: Kind;
  /** `namespace/name` */
  readonly key: string;
  /** True when it can change the configuration; a new status or label cannot. */
  readonly isEdit: boolean;
  readonly change: ObjectChange<ResourceObject>;
}

type ResourceSets = Readonly<
  Record<Kind, Pick<WatchedSet<ResourceObject>, "get" | "list" | "onChange" | "isUnlisted">>
>;

/**
 * The objects of the kinds, as the API server holds them and as resources. A resource stays the same JavaScript
 * object while its generation stays, however often its status changes.
 */
export class ResourceInventory {
  readonly #sets: ResourceSets;
  /** By `<Kind>/<namespace>/<name>`. */
  readonly #resources = new Map<string, Resource>();
  readonly #handlers: Array<(change: ResourceChange) => void> = [];

  constructor(sets: ResourceSets) {
    this.#sets = sets;
    for (const kind of kindsInOrder) sets[kind].onChange((change) => this.#take(kind, change));
  }

  onChange(handler: (change: ResourceChange) => void): void {
    this.#handlers.push(handler);
  }

  /** The cached object, by `namespace/name`. */
  object(kind: Kind, key: string): ResourceObject | undefined {
    return this.#sets[kind].get(key);
  }

  objects(kind: Kind): readonly ResourceObject[] {
    return this.#sets[kind].list();
  }

  /** The resource of an object, by `<Kind>/<namespace>/<name>`; undefined while it is being deleted. */
  resource(key: string): Resource | undefined {
    return this.#resources.get(key);
  }

  /** True for a watched namespace whose objects of the kind were not listed yet. */
  isUnlisted(kind: Kind, namespace: string): boolean {
    return this.#sets[kind].isUnlisted(namespace);
  }

  all(): readonly Resource[] {
    return [...this.#resources.values()];
  }

  #take(kind: Kind, change: ObjectChange<ResourceObject>): void {
    const isEdit = this.#remember(kind, change);
    for (const handler of this.#handlers) handler({ kind, key: change.key, isEdit, change });
  }

  #remember(kind: Kind, { kind: what, object }: ObjectChange<ResourceObject>): boolean {
    const key = resourceKey(kind, object.metadata);
    if (what === "deleted" || object.metadata.deletionTimestamp !== undefined) return this.#resources.delete(key);
    const before = this.#resources.get(key);
    if (before !== undefined && isSameVersion(before, object)) return false;
    this.#resources.set(key, resourceOf(kind, object));
    return true;
  }
}

/** The API server raises the generation with every change of the spec. */
function isSameVersion({ metadata: before }: Resource, { metadata: after }: ResourceObject): boolean {
  return (
    before.uid === after.uid &&
    before.generation === after.generation &&
    isPaused({ metadata: before }) === isPaused({ metadata: after })
  );
}

function resourceOf(kind: Kind, object: ResourceObject): Resource {
  const { name, namespace, uid, generation, creationTimestamp } = object.metadata;
  const metadata = {
    name,
    namespace,
    uid,
    generation,
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(isPaused(object) ? { annotations: { [pausedAnnotation]: "true" } } : {}),
  };
  // The API server's schema and `compile` check the spec.
  return { apiVersion, kind, metadata, spec: object.spec } as Resource;
}
