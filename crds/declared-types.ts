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

type Catalogs = Pick<RuntimeConfig, "eventCatalogs">;

/** Sensitive fields by type, including those of catalogs that may no longer declare the type. */
export function sensitiveFields({ eventCatalogs = [] }: Catalogs): ReadonlyMap<string, EventTypeConfig["sensitive"]> {
  const all = eventCatalogs.flatMap(({ types, formerTypes = [] }) => [...types, ...formerTypes]);
  const byType = Map.groupBy(all, ({ type }) => type);
  return new Map([...byType].map(([type, some]) => [type, some.flatMap(({ sensitive }) => sensitive)]));
}

/** Every type that a configuration declares, by its name. */
export function declaredTypes(config: Catalogs): ReadonlyMap<string, DeclaredType> {
  const { eventCatalogs = [] } = config;
  const allSensitive = sensitiveFields(config);
  const types = eventCatalogs.flatMap(({ namespace, name, owner, contact, types: own }) =>
    own.map(({ type, description, versions }): DeclaredType => ({
      type,
      description,
      catalog: `${namespace}/${name}`,
      owner,
      ...(contact === undefined ? {} : { contact }),
      sensitive: allSensitive.get(type) ?? [],
      versions: new Map(versions.map((version) => [version.version, version])),
    })),
  );
  return new Map(types.map((one) => [one.type, one]));
}
