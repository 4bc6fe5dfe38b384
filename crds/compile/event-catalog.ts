import type { EventCatalogConfig, EventTypeConfig, EventVersionConfig } from "../config.ts";
import type { EventCatalog } from "../resource.ts";
import type { EventCatalogType, EventCatalogTypeVersion } from "../types/event-catalog.ts";
import { byText } from "./canonical-json.ts";
import { originOf } from "./origin.ts";

/** Compiles one catalog of event types. */
export function compileEventCatalog(resource: EventCatalog): EventCatalogConfig {
  const { owner, contact, types } = resource.spec;
  return {
    ...originOf(resource),
    owner,
    ...(contact === undefined ? {} : { contact }),
    types: types.map(compileType).sort((one, other) => byText(one.type, other.type)),
  };
}

function compileType({ type, description, versions, sensitive }: EventCatalogType): EventTypeConfig {
  return {
    type,
    description,
    versions: versions.map(compileVersion).sort((one, other) => byText(one.version, other.version)),
    sensitive: sensitive.toSorted((one, other) => byText(one.pointer, other.pointer)),
  };
}

function compileVersion(version: EventCatalogTypeVersion): EventVersionConfig {
  const { schema, examples, state, deprecatedAt, sunsetAt } = version;
  return {
    version: version.version,
    schema,
    examples,
    state,
    ...(deprecatedAt === undefined ? {} : { deprecatedAtMs: Date.parse(deprecatedAt) }),
    ...(sunsetAt === undefined ? {} : { sunsetAtMs: Date.parse(sunsetAt) }),
  };
}

/** Warnings for versions that end. */
export function eventCatalogWarnings({ spec }: EventCatalog): readonly string[] {
  return spec.types.flatMap(({ type, versions }) =>
    versions
      .filter(({ state }) => state === "Deprecated")
      .map(({ version, deprecatedAt, sunsetAt }) => {
        const end = sunsetAt === undefined ? "it has no sunsetAt" : `new events are rejected from ${sunsetAt}`;
        return `version ${version} of ${type} is deprecated since ${deprecatedAt}; ${end}`;
      }),
  );
}
