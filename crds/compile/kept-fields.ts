import { isDeepStrictEqual } from "node:util";
import type { EventCatalogConfig, EventTypeConfig, RuntimeConfig } from "../config.ts";
import { byText } from "./canonical-json.ts";
import { excludes, fieldKey } from "./unresolved-types.ts";

type FormerType = Pick<EventTypeConfig, "type" | "sensitive">;
type SensitiveField = EventTypeConfig["sensitive"][number];

/**
 * The catalogs of a configuration with the sensitive fields of types that they no longer declare: of deleted catalogs,
 * and of types that an edit removed. A field is kept while a partner excludes its class:
 *
 * ```
 *   the type is declared ─┬─ by the catalog of that name ─────────────────► its present fields count
 *                         └─ by another one, whose edit drops the field ──► released everywhere
 *   otherwise ────────────┬─ a partner excludes the class for the type ───► kept
 *                         └─ no partner does ─────────────────────────────► released
 * ```
 *
 * @param applied the catalogs applied before, also those whose objects were deleted
 */
export function withKeptFields(config: RuntimeConfig, applied: readonly EventCatalogConfig[]): RuntimeConfig {
  const { eventCatalogs: compiled = [] } = config;
  if (compiled.length + applied.length === 0) return config;
  const last = new Map(applied.map((one) => [nameOf(one), one]));
  const present = new Set(compiled.map(nameOf));
  const isReleased = releasedBy(compiled, last);
  const exclusions = config.partners.flatMap(({ subscriptions, withdrawn = [] }) => [...subscriptions, ...withdrawn]);
  const isKept = (type: string, field: SensitiveField): boolean => exclusions.some((one) => excludes(one, type, field));
  const left = applied.filter((one) => !present.has(nameOf(one))).map(deleted);
  const catalogs = [...compiled, ...left].flatMap(
    (catalog) => withFormerTypes(catalog, last.get(nameOf(catalog)), isKept, isReleased) ?? [],
  );
  if (catalogs.length === compiled.length && catalogs.every((one, at) => one === compiled[at])) return config;
  const { eventCatalogs: _compiled, ...rest } = config;
  if (catalogs.length === 0) return rest;
  return { ...rest, eventCatalogs: catalogs.sort((one, other) => byText(nameOf(one), nameOf(other))) };
}

type Decision = (type: string, field: SensitiveField) => boolean;

/** Fields that a catalog no longer has in a type that it declared before and declares now. */
function releasedBy(compiled: readonly EventCatalogConfig[], last: ReadonlyMap<string, EventCatalogConfig>): Decision {
  const released = new Set(
    compiled.flatMap((catalog) => {
      const before = last.get(nameOf(catalog));
      if (before === undefined || before === catalog) return [];
      const declared = new Set(catalog.types.map(({ type }) => type));
      const now = new Set(keysOf(catalog.types));
      return keysOf(before.types.filter(({ type }) => declared.has(type))).filter((key) => !now.has(key));
    }),
  );
  return (type, field) => released.has(fieldKey(type, field));
}

/** A catalog with its former types; undefined if nothing is left of it. */
function withFormerTypes(
  catalog: EventCatalogConfig,
  last: EventCatalogConfig | undefined,
  isKept: Decision,
  isReleased: Decision,
): EventCatalogConfig | undefined {
  const { formerTypes = [], ...rest } = catalog;
  const kept = formerTypesOf(catalog, last, isKept)
    .map((one) => withFields(one, (type, field) => !isReleased(type, field)))
    .filter(({ sensitive }) => sensitive.length > 0)
    .sort((one, other) => byText(one.type, other.type));
  if (catalog.types.length + kept.length === 0) return undefined;
  if (isDeepStrictEqual(kept, formerTypes)) return catalog;
  const changed = kept.length === 0 ? rest : { ...rest, formerTypes: kept };
  // The very object that is applied already, so that the next compilation recognises it.
  return isDeepStrictEqual(changed, last) ? last : changed;
}

/** Those that a catalog has already are of types that it would declare, but may not: they need no partner. */
function formerTypesOf(
  { types, formerTypes = [] }: EventCatalogConfig,
  last: EventCatalogConfig | undefined,
  isKept: Decision,
): readonly FormerType[] {
  const known = new Set([...types, ...formerTypes].map(({ type }) => type));
  const before = last === undefined ? [] : [...last.types, ...(last.formerTypes ?? [])];
  const dropped = before.filter(({ type }) => !known.has(type)).map((one) => withFields(one, isKept));
  return [...formerTypes, ...dropped];
}

function withFields({ type, sensitive }: FormerType, isWanted: Decision): FormerType {
  return { type, sensitive: sensitive.filter((field) => isWanted(type, field)) };
}

/** What is left of a catalog whose object was deleted. */
function deleted({
  uncompared: _uncompared,
  formerTypes: _former,
  ...catalog
}: EventCatalogConfig): EventCatalogConfig {
  return { ...catalog, specDigest: "", types: [], deleted: true };
}

function nameOf({ namespace, name }: Pick<EventCatalogConfig, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

function keysOf(types: readonly FormerType[]): readonly string[] {
  return types.flatMap(({ type, sensitive }) => sensitive.map((field) => fieldKey(type, field)));
}
