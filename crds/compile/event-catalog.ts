import { contradictionWarnings, looseWarnings } from "../checks/event-catalog.ts";
import { declarableTypes } from "../checks/permissions.ts";
import type { EventCatalogConfig, EventTypeConfig, EventVersionConfig } from "../config.ts";
import type { ConfigPart } from "../part.ts";
import type { InstallationPolicy } from "../policy.ts";
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

type EventCatalogPart = Extract<ConfigPart, { readonly kind: "EventCatalog" }>;

/**
 * A catalog that may not declare some of its types: it keeps the others. Sensitive fields of a type that it did declare
 * stay sensitive, so that no partner receives them because of a conflict or a smaller grant.
 *
 * @param last the part applied before
 */
export function withoutTypes(
  part: EventCatalogPart,
  isLost: (type: string) => boolean,
  last: ConfigPart | undefined,
): EventCatalogPart | undefined {
  const types = part.config.types.filter(({ type }) => !isLost(type));
  const before = last?.kind === "EventCatalog" ? [...last.config.types, ...(last.config.formerTypes ?? [])] : [];
  const formerTypes = before
    .filter(({ type, sensitive }) => isLost(type) && sensitive.length > 0)
    .map(({ type, sensitive }) => ({ type, sensitive }));
  if (types.length + formerTypes.length === 0) return undefined;
  const { formerTypes: _former, ...config } = part.config;
  return { ...part, config: { ...config, types, ...(formerTypes.length === 0 ? {} : { formerTypes }) } };
}

/** The part of a catalog that the policy permits now. */
export function permittedTypes(part: EventCatalogPart, policy: InstallationPolicy): EventCatalogPart | undefined {
  const isPermitted = declarableTypes(policy, part.config.namespace);
  const former = new Set(part.config.formerTypes?.map(({ type }) => type));
  return withoutTypes(part, (type) => !isPermitted(type) || former.has(type), part);
}

/** Warnings for versions that end, schemas that accept nothing at some place, and doubtful sensitive fields. */
export function eventCatalogWarnings({ spec }: EventCatalog): readonly string[] {
  const ending = spec.types.flatMap(({ type, versions }) =>
    versions
      .filter(({ state }) => state === "Deprecated")
      .map(({ version, deprecatedAt, sunsetAt }) => {
        const end = sunsetAt === undefined ? "without a sunsetAt" : `with ${sunsetAt} as the end of new events`;
        return `version ${version} of ${type} is deprecated since ${deprecatedAt}, ${end}`;
      }),
  );
  return [...ending, ...contradictionWarnings(spec), ...looseWarnings(spec)];
}
