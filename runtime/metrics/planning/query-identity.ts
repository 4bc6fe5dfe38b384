import { hash } from "node:crypto";
import type { Query } from "./query.ts";

/**
 * Digests everything in a query that its data depends on; limit and page are not part of it. The digest includes the
 * rights as granted stores and environments: callers with equal rights have equal digests, and others do not.
 */
export function identityOf(query: Query): string {
  const identity = JSON.stringify({
    tenant: query.tenant,
    environments: query.environments === "every" ? "every" : [...query.environments].sort(),
    metrics: query.metrics.map(({ entry, aggregation, stores }) => [
      entry.digest,
      aggregation,
      stores.map(({ digest }) => digest),
    ]),
    filters: [...query.filters],
    groupBy: query.groupBy,
    window: query.window,
    exemplars: query.exemplars,
    schemaVersion: query.schemaVersion,
  });
  return hash("sha256", identity, "base64url");
}
