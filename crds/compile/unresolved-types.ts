import type { EventCatalogConfig, SubscriptionConfig } from "../config.ts";
import type { ConfigPart } from "../part.ts";

/** The segments of the declared types, by their first one. */
type Domains = ReadonlyMap<string, readonly (readonly string[])[]>;

/** Whether a type exists that both patterns match, by their segments. A type is a pattern without `*`. */
export function patternsMeet([a, ...one]: readonly string[], [b, ...other]: readonly string[]): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a === "**" || b === "**") return true;
  return (a === "*" || b === "*" || a === b) && patternsMeet(one, other);
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
}

/** Adds the unresolved patterns of partners to their results. Catalogs and results are compared by identity. */
export class UnresolvedTypes<Result extends Judged> {
  #catalogs: readonly EventCatalogConfig[] = [];
  #domains: Domains = new Map();
  #judged = new WeakMap<Result, Result>();

  use(catalogs: readonly EventCatalogConfig[]): void {
    const isSame = catalogs.length === this.#catalogs.length && catalogs.every((one, at) => one === this.#catalogs[at]);
    if (isSame) return;
    this.#catalogs = catalogs;
    const types = catalogs.flatMap((catalog) => catalog.types.map(({ type }) => type.split(".")));
    this.#domains = Map.groupBy(types, ([domain = ""]) => domain);
    this.#judged = new WeakMap();
  }

  /** The same object while the result and the catalogs are the same. */
  judge(result: Result, part: ConfigPart | undefined): Result {
    if (this.#domains.size === 0 || part?.kind !== "WebhookPartner") return result;
    const known = this.#judged.get(result);
    if (known !== undefined) return known;
    const unresolved = unresolvedIn(this.#domains, part.config.subscriptions);
    const warnings = unresolved.map((pattern) => `no event catalog declares a type that ${pattern} matches`);
    const judged =
      unresolved.length === 0
        ? result
        : { ...result, warnings: [...result.warnings, ...warnings], unresolvedTypes: unresolved };
    this.#judged.set(result, judged);
    return judged;
  }
}
