/** One kind of resource as the API server addresses it. */
export interface ResourceType {
  /** API group; the empty string is the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Name in paths, for example `webhookpartners`. */
  readonly plural: string;
}

/** Source: Kubernetes API reference, Secret v1 core. */
export const secretType: ResourceType = { group: "", version: "v1", kind: "Secret", plural: "secrets" };

/** Source: Kubernetes API reference, Pod v1 core. */
export const podType: ResourceType = { group: "", version: "v1", kind: "Pod", plural: "pods" };

/** Source: Kubernetes API reference, Service v1 core. */
export const serviceType: ResourceType = { group: "", version: "v1", kind: "Service", plural: "services" };

/** Namespace and name of one object. */
export interface ObjectRef {
  /** Absent for kinds without a namespace. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** The members of `metadata` that this folder reads and writes. Times are RFC 3339 strings. */
export interface KubeMeta {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly managedFields?: readonly unknown[];
}

/** Any object of the API server. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: KubeMeta;
}

/** One page of a list. */
export interface KubeList<T> {
  readonly items: readonly T[];
  /** State of the whole list, from which a watch continues. */
  readonly resourceVersion: string;
  /** Token of the next page; absent on the last. */
  readonly continue?: string;
}

const decimal = /^(?:0|[1-9]\d*)$/u;

/** `apiVersion` of the objects of a type. */
export function apiVersionOf(type: ResourceType): string {
  return type.group === "" ? type.version : `${type.group}/${type.version}`;
}

/** Path of all objects of a type, in one namespace or in all namespaces. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const root = type.group === "" ? "/api" : `/apis/${segment(type.group)}`;
  const scope = namespace === undefined ? "" : `/namespaces/${segment(namespace)}`;
  return `${root}/${segment(type.version)}${scope}/${segment(type.plural)}`;
}

/** Path of one object, or of one of its subresources. */
export function objectPath(type: ResourceType, ref: ObjectRef, subresource?: string): string {
  const path = `${collectionPath(type, ref.namespace)}/${segment(ref.name)}`;
  return subresource === undefined ? path : `${path}/${segment(subresource)}`;
}

/** Key of an object in queues and caches: `namespace/name`, or `name` if there is no namespace. */
export function keyOf(ref: ObjectRef | { readonly metadata: KubeMeta }): string {
  const { namespace, name } = "metadata" in ref ? ref.metadata : ref;
  return namespace === undefined || namespace === "" ? (name ?? "") : `${namespace}/${name ?? ""}`;
}

/** Parses a key of {@link keyOf}. */
export function refOf(key: string): ObjectRef {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Encodes a segment. An empty segment would address the collection, a dotted one its parent. */
function segment(value: string): string {
  if (value === "" || value === "." || value === "..") throw new TypeError(`"${value}" cannot be part of an API path`);
  return encodeURIComponent(value);
}

/**
 * Compares two resource versions of one kind of resource. Returns undefined when they are not numbers. Source:
 * Kubernetes API concepts, "Resource versions" (comparable since 1.35, and in practice since they come from etcd).
 */
export function isLater(version: string, than: string): boolean | undefined {
  if (!decimal.test(version) || !decimal.test(than)) return undefined;
  return version.length === than.length ? version > than : version.length > than.length;
}
