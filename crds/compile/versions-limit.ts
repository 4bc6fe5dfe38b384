import type { ConfigPart } from "../part.ts";
import type { Evaluation } from "./evaluation-cache.ts";
import type { Before } from "./last-good.ts";
import type { ConflictProblem } from "./uniqueness.ts";

/** Most versions of event types in an installation, so that the schemas of a pod are bounded. */
const versionsMax = 1_000;

/**
 * Catalogs of event types that are not applied because there would be too many versions. A catalog that has no more
 * versions than it had is applied in any case, so no edit of one stops another.
 *
 * @param oldestFirst objects of all kinds
 */
export function versionsLimit(
  oldestFirst: readonly Evaluation[],
  { partOf }: Before,
): ReadonlyMap<Evaluation, readonly ConflictProblem[]> {
  const catalogs = oldestFirst
    .map((one) => ({ one, wanted: versionsOf(one.part), had: versionsOf(partOf(one.resource)) }))
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

function versionsOf(part: ConfigPart | undefined): number {
  return part?.kind === "EventCatalog" ? part.config.types.reduce((sum, { versions }) => sum + versions.length, 0) : 0;
}
