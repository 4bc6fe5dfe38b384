import { apiVersion, type Kind, type Resource } from "../../crds/resource.ts";
import { resourceKey } from "../../crds/shards/shards.ts";
import type { Change } from "../../kube/informer/object-store.ts";
import { isPaused, kindsInOrder, pausedAnnotation, type ResourceObject } from "../resource-types.ts";
import type { WatchedSet } from "./watched-set.ts";

/** Something that happened to one object of the three kinds. */
export interface ResourceChange {
  readonly kind: Kind;
  /** `namespace/name` */
  readonly key: string;
  /** Whether it may change what is to be in force; a new status or label does not. */
  readonly isEdit: boolean;
  readonly change: Change<ResourceObject>;
}

type ResourceSets = Readonly<Record<Kind, Pick<WatchedSet<ResourceObject>, "get" | "list" | "onChange">>>;

/**
 * The objects of the three kinds: as the API server holds them, and as what they say. The latter stays the very same
 * object for as long as it says the same, however often its status changes.
 */
export class ResourceInventory {
  readonly #sets: ResourceSets;
  /** By `<Kind>/<namespace>/<name>`. */
  readonly #said = new Map<string, Resource>();
  readonly #handlers: Array<(change: ResourceChange) => void> = [];

  constructor(sets: ResourceSets) {
    this.#sets = sets;
    for (const kind of kindsInOrder) sets[kind].onChange((change) => this.#take(kind, change));
  }

  onChange(handler: (change: ResourceChange) => void): void {
    this.#handlers.push(handler);
  }

  /** The object as last heard of, by `namespace/name`. */
  object(kind: Kind, key: string): ResourceObject | undefined {
    return this.#sets[kind].get(key);
  }

  objects(kind: Kind): readonly ResourceObject[] {
    return this.#sets[kind].list();
  }

  /** What an object says, by `<Kind>/<namespace>/<name>`; one that is being deleted says nothing any more. */
  said(key: string): Resource | undefined {
    return this.#said.get(key);
  }

  all(): readonly Resource[] {
    return [...this.#said.values()];
  }

  #take(kind: Kind, change: Change<ResourceObject>): void {
    const isEdit = this.#remember(kind, change);
    for (const handler of this.#handlers) handler({ kind, key: change.key, isEdit, change });
  }

  #remember(kind: Kind, { kind: what, object }: Change<ResourceObject>): boolean {
    const key = resourceKey(kind, object.metadata);
    if (what === "deleted" || object.metadata.deletionTimestamp !== undefined) return this.#said.delete(key);
    const before = this.#said.get(key);
    if (before !== undefined && saysTheSame(before, object)) return false;
    this.#said.set(key, whatItSays(kind, object));
    return true;
  }
}

/** The API server raises the generation with every change of the spec. */
function saysTheSame({ metadata: before }: Resource, { metadata: after }: ResourceObject): boolean {
  return (
    before.uid === after.uid &&
    before.generation === after.generation &&
    isPaused({ metadata: before }) === isPaused({ metadata: after })
  );
}

function whatItSays(kind: Kind, object: ResourceObject): Resource {
  const { name, namespace, uid, generation, creationTimestamp } = object.metadata;
  const metadata = {
    name,
    namespace,
    uid,
    generation,
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(isPaused(object) ? { annotations: { [pausedAnnotation]: "true" } } : {}),
  };
  // The API server's schema and `compile` decide what the spec is.
  return { apiVersion, kind, metadata, spec: object.spec } as Resource;
}
