import type { EventTypeConfig, EventVersionConfig, RuntimeConfig } from "./config.ts";

/** One declared type with its versions, and the catalog that declares it. */
export interface DeclaredType {
  readonly type: string;
  readonly description: string;
  /** `namespace/name` of the catalog. */
  readonly catalog: string;
  readonly owner: string;
  readonly contact?: string;
  readonly sensitive: EventTypeConfig["sensitive"];
  readonly versions: ReadonlyMap<string, EventVersionConfig>;
}

/** Every type that a configuration declares, by its name. */
export function declaredTypes({
  eventCatalogs = [],
}: Pick<RuntimeConfig, "eventCatalogs">): ReadonlyMap<string, DeclaredType> {
  const types = eventCatalogs.flatMap(({ namespace, name, owner, contact, types: own }) =>
    own.map(({ type, description, sensitive, versions }): DeclaredType => ({
      type,
      description,
      catalog: `${namespace}/${name}`,
      owner,
      ...(contact === undefined ? {} : { contact }),
      sensitive,
      versions: new Map(versions.map((version) => [version.version, version])),
    })),
  );
  return new Map(types.map((one) => [one.type, one]));
}
