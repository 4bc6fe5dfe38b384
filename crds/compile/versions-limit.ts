import type { ConfigPart } from "../part.ts";
import type { Evaluation } from "./evaluation-cache.ts";
import type { Before } from "./last-good.ts";
import { isNamesake, type ConflictProblem, type KeyHolder } from "./uniqueness.ts";

/** Most versions of event types in an installation, so that the schemas of a pod are bounded. */
const versionsMax = 1_000;

/**
 * Catalogs of event types that are not applied because there would be too many versions. A catalog that has no more
 * versions than it had is applied in any case, so no edit of one stops another. Types that belong to another catalog
 * do not count.
 *
 * @param oldestFirst objects of all kinds
 * @param conflicts unique keys that other objects hold
 */
export function versionsLimit(
  oldestFirst: readonly Evaluation[],
  { partOf }: Before,
  conflicts: ReadonlyMap<KeyHolder, readonly ConflictProblem[]>,
): ReadonlyMap<Evaluation, readonly ConflictProblem[]> {
  const catalogs = oldestFirst
    .map((one) => {
      const lost = conflicts.get(one) ?? [];
      return { one, wanted: versionsOf(one.part, lost), had: versionsOf(partOf(one.resource), lost) };
    })
    .filter(({ wanted }) => wanted > 0);
  let total = catalogs.reduce((sum, { wanted, had }) => sum + Math.min(wanted, had), 0);
  const over = new Map<Evaluation, readonly ConflictProblem[]>();
  for (const { one, wanted, had } of catalogs) {
    const more = Math.max(wanted - had, 0);
    if (more === 0 || total + more <= versionsMax) {
      total += more;
      continue;
    }
    const message =
      `all event catalogs together have at most ${versionsMax.toLocaleString("en")} versions; the others have ` +
      `${total - Math.min(wanted, had)}, and this one would have ${wanted}: remove versions that are past their ` +
      "sunsetAt";
    over.set(one, [{ field: "spec.types", reason: "Conflicted", message }]);
  }
  return over;
}

function versionsOf(part: ConfigPart | undefined, lost: readonly ConflictProblem[]): number {
  if (part?.kind !== "EventCatalog" || lost.some(isNamesake)) return 0;
  const types = part.config.types.filter(({ type }) => lost.every(({ eventType }) => eventType !== type));
  return types.reduce((sum, { versions }) => sum + versions.length, 0);
}
