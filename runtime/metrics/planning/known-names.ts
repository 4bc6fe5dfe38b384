import type { RuntimeConfig } from "../../../crds/config.ts";
import { accessOf, type Access } from "../authorization/access.ts";
import type { Caller } from "../authorization/caller.ts";
import { mayRead } from "../authorization/policy.ts";
import type { CatalogIndex, MetricEntry } from "../catalog/catalog-index.ts";
import { isPastSunset } from "../catalog/deprecation.ts";
import type { FindNames } from "../request/read-query.ts";

interface Viewing {
  readonly catalog: CatalogIndex;
  readonly quotas: Pick<RuntimeConfig, "quotas" | "classDefaults">;
}

/**
 * Finds the labels and aggregations that all metrics of a request have, for errors. Undefined unless the caller may
 * read every one of them.
 */
export function namesFor(caller: Caller, { catalog, quotas }: Viewing): FindNames {
  return (ids) => {
    const access = accessOf(caller, quotas);
    const entries = ids.map((id) => catalog.get(id));
    const known = entries.filter(
      (entry): entry is MetricEntry => entry !== undefined && mayRead(entry, caller, access),
    );
    const [first, ...others] = known.map(({ metric }) => metric);
    if (first === undefined || known.length < ids.length) return undefined;
    return {
      of: others.length === 0 ? first.id : "all these metrics",
      labels: first.labels.filter((label) => others.every(({ labels }) => labels.includes(label))),
      aggregations: first.aggregations.filter((one) => others.every(({ aggregations }) => aggregations.includes(one))),
    };
  };
}

/** The ids that a caller may read, for the hint of an unknown one. */
export function* readableIds(catalog: CatalogIndex, caller: Caller, access: Access, nowMs: number): Iterable<string> {
  for (const entry of catalog.values()) {
    if (mayRead(entry, caller, access) && !isPastSunset(entry.metric, nowMs)) yield entry.metric.id;
  }
}
