const decimal = /^(?:0|[1-9]\d*)$/u;

/**
 * Whether a resource version is later than another of the same kind of resource: undefined when the server does not
 * number them, so that nobody can say. Source: Kubernetes API concepts, "Resource versions" (comparable since 1.35, and
 * in fact ever since they come from etcd).
 */
export function isLater(version: string, than: string): boolean | undefined {
  if (!decimal.test(version) || !decimal.test(than)) return undefined;
  return version.length === than.length ? version > than : version.length > than.length;
}
