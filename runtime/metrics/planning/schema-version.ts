import { refuseField } from "../../errors/refusal.ts";
import type { MetricEntry } from "../catalog/catalog-index.ts";
import { shown } from "../request/parameters.ts";

/**
 * The schema versions of the catalogs that are read, usually one; `none` without entries.
 *
 * @throws Refusal `schema_version_gone` when the request pins another one
 */
export function schemaVersionOf(entries: readonly MetricEntry[], pinned: string | undefined): string {
  const served = joinedVersions(entries.map(({ schemaVersion }) => schemaVersion));
  if (pinned === undefined || pinned === served || entries.length === 0) return served;
  throw refuseField(
    "schema_version_gone",
    "schema_version",
    `these metrics are served in schema version ${served}, not ${shown(pinned)}; pin ${served} or none`,
  );
}

/** The versions of catalogs in one text; `none` of no catalog. */
export function joinedVersions(versions: Iterable<string>): string {
  return [...new Set(versions)].sort().join(",") || "none";
}
