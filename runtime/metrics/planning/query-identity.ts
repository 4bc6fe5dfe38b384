import { hash } from "node:crypto";
import { firstPointMs, widthApart } from "../request/window.ts";
import { writtenFilters } from "./labels.ts";
import { measureName, type QueriedMetric, type Query } from "./query.ts";

/**
 * Digests everything in a query that its data depends on; limit and page are not part of it. The digest includes the
 * rights as granted stores and environments: callers with equal rights have equal digests, and others do not.
 */
export function identityOf(query: Query): string {
  const identity = JSON.stringify({
    tenant: query.tenant,
    environments: environmentsOf(query),
    metrics: query.metrics.map((metric) => [
      metric.entry.digest,
      measureName(metric),
      metric.stores.map(({ digest }) => digest),
    ]),
    filters: writtenFilters(query.filters),
    groupBy: query.groupBy,
    window: windowIdentity(query),
    exemplars: query.exemplars,
    schemaVersion: query.schemaVersion,
  });
  return hash("sha256", identity, "base64url");
}

/** Names everything that the points of one metric depend on besides their times and the reads of its stores. */
export function metricIdentityOf(
  query: Query,
  metric: QueriedMetric,
  stores: readonly { readonly digest: string }[],
): string {
  const { tenant, filters, groupBy, window } = query;
  const own = [metric.entry.metric.id, metric.entry.digest, measureName(metric), stores.map(({ digest }) => digest)];
  // Points of two windows are equal only where their times are: the times of a phase are not multiples of the step.
  const phaseSeconds = (firstPointMs(window) / 1_000) % window.stepSeconds;
  const apart = phaseSeconds === 0 ? widthApart(window) : [window.widthSeconds, phaseSeconds];
  const points = [window.stepSeconds, ...apart];
  return JSON.stringify([tenant, environmentsOf(query), own, writtenFilters(filters), groupBy, ...points]);
}

/** Without the width of a query whose width is its step, so that digests of such queries stay as they are. */
function windowIdentity({ window: { widthSeconds, ...window } }: Query): object {
  return widthSeconds === window.stepSeconds ? window : { ...window, widthSeconds };
}

function environmentsOf({ environments }: Query): "every" | readonly string[] {
  return environments === "every" ? "every" : [...environments].sort();
}
