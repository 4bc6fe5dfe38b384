const decimal = /^(?:0|[1-9]\d*)$/u;

/**
 * Compares two resource versions of one kind of resource. Returns undefined when they are not numbers. Source:
 * Kubernetes API concepts, "Resource versions" (comparable since 1.35, and in practice since they come from etcd).
 */
export function isLater(version: string, than: string): boolean | undefined {
  if (!decimal.test(version) || !decimal.test(than)) return undefined;
  return version.length === than.length ? version > than : version.length > than.length;
}
