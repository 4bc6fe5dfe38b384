import { hash } from "node:crypto";
import type { Query } from "./query.ts";

/**
 * A digest of everything of a query that its data depends on: all but what cuts the page. Rights are in it as what they
 * come to, so that callers with equal rights have equal digests, and others never do.
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
