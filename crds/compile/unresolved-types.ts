import type { EventCatalogConfig, EventTypeConfig, SubscriptionConfig } from "../config.ts";
import type { ConfigPart } from "../part.ts";
import { reasons } from "../reasons.ts";

/** The segments of the declared types, by their first one. */
type Domains = ReadonlyMap<string, readonly (readonly string[])[]>;

/** Whether a type exists that both patterns match, by their segments. A type is a pattern without `*`. */
export function patternsMeet([a, ...one]: readonly string[], [b, ...other]: readonly string[]): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a === "**" || b === "**") return true;
  return (a === "*" || b === "*" || a === b) && patternsMeet(one, other);
}

/** Whether the payload of a subscription leaves out a field of events of a type by its class. */
export function excludes(
  { types, selects }: SubscriptionConfig,
  type: string,
  field: { readonly class: string },
): boolean {
  return (
    (selects?.payload ?? []).some(({ excludeClasses = [] }) => excludeClasses.includes(field.class)) &&
    types.some((pattern) => patternsMeet(pattern.split("."), type.split(".")))
  );
}

/**
 * Patterns that match no declared type, although a catalog declares types with the same first segment. A pattern that
 * begins with `*` is in no domain.
 */
function unresolvedIn(domains: Domains, subscriptions: readonly SubscriptionConfig[]): readonly string[] {
  const patterns = new Set(subscriptions.flatMap(({ types }) => types));
  return [...patterns].filter((pattern) => {
    const segments = pattern.split(".");
    const declared = domains.get(segments[0] ?? "") ?? [];
    return declared.length > 0 && !declared.some((type) => patternsMeet(segments, type));
  });
}

/** The members of a result that this check adds to. */
interface Judged {
  readonly warnings: readonly string[];
  readonly unresolvedTypes?: readonly string[];
  readonly keptFields?: readonly string[];
}

/** A field that stays excluded although no catalog declares it any more. */
interface KeptField {
  readonly type: string;
  readonly field: EventTypeConfig["sensitive"][number];
  readonly words: string;
}

/** Equal for the same field of a type in the same class. */
export function fieldKey(type: string, { pointer, class: fieldClass }: KeptField["field"]): string {
  return `${type} ${fieldClass} ${pointer}`;
}

/** Fields that no catalog declares in any type now, from the former types of catalogs. */
function keptFieldsOf(catalogs: readonly EventCatalogConfig[]): readonly KeptField[] {
  const declared = new Set(
    catalogs.flatMap(({ types }) =>
      types.flatMap(({ type, sensitive }) => sensitive.map((one) => fieldKey(type, one))),
    ),
  );
  return catalogs.flatMap(({ namespace, name, formerTypes = [] }) =>
    formerTypes.flatMap(({ type, sensitive }) =>
      sensitive
        .filter((field) => !declared.has(fieldKey(type, field)))
        .map((field) => ({
          type,
          field,
          words: `${field.pointer} of ${type} (class ${field.class} in EventCatalog ${namespace}/${name})`,
        })),
    ),
  );
}

/** Fields and patterns in the message of a condition, which has at most 32,768 characters. */
const namedMax = 20;

/** The condition `TypesResolved`, if it is not met. Kept fields decide its reason: only a person can release them. */
export function typesFault({ unresolvedTypes = [], keptFields = [] }: Omit<Judged, "warnings">) {
  const { ClassNotDeclared, TypeNotDeclared } = reasons.TypesResolved;
  const sentences = [
    ...(keptFields.length === 0 ? [] : [`${ClassNotDeclared.meaning} ${someOf(keptFields)}`]),
    ...(unresolvedTypes.length === 0 ? [] : [`${TypeNotDeclared.meaning} ${someOf(unresolvedTypes)}`]),
  ];
  if (sentences.length === 0) return undefined;
  const reason = keptFields.length === 0 ? ("TypeNotDeclared" as const) : ("ClassNotDeclared" as const);
  return { reason, status: reasons.TypesResolved[reason].status, message: sentences.join(". ") };
}

function someOf(names: readonly string[]): string {
  const more = names.length > namedMax ? ` and ${names.length - namedMax} more` : "";
  return names.slice(0, namedMax).join(", ") + more;
}

/** Adds unresolved patterns and kept fields of partners to their results. It compares by identity. */
export class UnresolvedTypes<Result extends Judged> {
  #catalogs: readonly EventCatalogConfig[] = [];
  #domains: Domains = new Map();
  #kept: readonly KeptField[] = [];
  #judged = new WeakMap<Result, Result>();

  use(catalogs: readonly EventCatalogConfig[]): void {
    const isSame = catalogs.length === this.#catalogs.length && catalogs.every((one, at) => one === this.#catalogs[at]);
    if (isSame) return;
    this.#catalogs = catalogs;
    const types = catalogs.flatMap((catalog) => catalog.types.map(({ type }) => type.split(".")));
    this.#domains = Map.groupBy(types, ([domain = ""]) => domain);
    this.#kept = keptFieldsOf(catalogs);
    this.#judged = new WeakMap();
  }

  /** The same object while the result and the catalogs are the same. */
  judge(result: Result, part: ConfigPart | undefined): Result {
    if (this.#catalogs.length === 0 || part?.kind !== "WebhookPartner") return result;
    const known = this.#judged.get(result);
    if (known !== undefined) return known;
    const judged = this.#judge(result, part.config.subscriptions);
    this.#judged.set(result, judged);
    return judged;
  }

  #judge(result: Result, subscriptions: readonly SubscriptionConfig[]): Result {
    const unresolved = unresolvedIn(this.#domains, subscriptions);
    const kept = this.#kept
      .filter(({ type, field }) => subscriptions.some((one) => excludes(one, type, field)))
      .map(({ words }) => words);
    if (unresolved.length + kept.length === 0) return result;
    const warnings = [
      ...unresolved.map((pattern) => `no event catalog declares a type that ${pattern} matches`),
      ...kept.map((words) => `no event catalog declares the field ${words} any more; it stays excluded`),
    ];
    return {
      ...result,
      warnings: [...result.warnings, ...warnings],
      ...(unresolved.length === 0 ? {} : { unresolvedTypes: unresolved }),
      ...(kept.length === 0 ? {} : { keptFields: kept }),
    };
  }
}
