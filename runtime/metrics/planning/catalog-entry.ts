import type { LabelName, MetricConfig, RuntimeConfig } from "../../../crds/config.ts";
import { didYouMean } from "../../errors/near-names.ts";
import { invalidField } from "../../errors/api-error.ts";
import { type Access, accessOf, type Caller } from "../authorization/access.ts";
import { mayRead } from "../authorization/policy.ts";
import type { CatalogIndex, MetricEntry } from "../catalog-index.ts";
import { shown } from "../request/known-names.ts";
import { type Filters, isolationLabels, queryLimits } from "../request/parameters.ts";
import type { FindNames, Selection } from "../request/read-query.ts";
import { formatTime } from "../request/time.ts";

/**
 * Looks up a metric.
 *
 * @param readable ids that the error may name. @default none
 * @throws ApiError `unknown_metric` with near ids
 */
export function catalogEntry(
  id: string,
  catalog: CatalogIndex,
  readable: () => Iterable<string> = () => [],
): MetricEntry {
  const entry = catalog.get(id);
  if (entry !== undefined) return entry;
  const detail = `the metric ${shown(id)} is not in the catalog; ${didYouMean(id, readable())}choose one of`;
  throw invalidField("unknown_metric", "metric", `${detail} /v1/metrics/catalog`);
}

/** Requires that each metric has the labels of a request. @throws ApiError `invalid_group_by`, `invalid_filter` */
export function requireLabels(
  selection: Pick<Selection, "groupBy" | "filters">,
  metrics: readonly MetricConfig[],
  groupByClassMax: number,
): void {
  requireShortFilters(selection.filters);
  for (const metric of metrics) {
    const most = Math.min(metric.maxGroupBy, groupByClassMax);
    if (selection.groupBy.length > most) {
      const detail = `group_by has ${selection.groupBy.length} labels; ${metric.id} allows at most ${most}`;
      throw invalidField("invalid_group_by", "group_by", detail);
    }
    for (const label of selection.groupBy) requireLabel(metric, label, "group_by", "invalid_group_by");
    for (const label of selection.filters.keys())
      if (!isolationLabels.includes(label)) requireLabel(metric, label, `filter[${label}]`, "invalid_filter");
  }
}

function requireShortFilters(filters: Filters): void {
  const length = filters.values().reduce((sum, values) => sum + values.join("").length, 0);
  const { filterTextMax } = queryLimits;
  if (length <= filterTextMax) return;
  const detail = `the filters have ${length} characters; use at most ${filterTextMax}, or send several requests`;
  throw invalidField("invalid_filter", "filter", detail);
}

function requireLabel(
  metric: MetricConfig,
  label: LabelName,
  field: string,
  code: "invalid_group_by" | "invalid_filter",
): void {
  if (!metric.labels.includes(label)) throw invalidField(code, field, missingLabel(metric, label));
}

/** The sentence about a label that a metric lacks, with those that it has. */
export function missingLabel({ id, labels }: Pick<MetricConfig, "id" | "labels">, label: LabelName): string {
  const advice =
    labels.length === 0 ? "it has no labels" : `${didYouMean(label, labels)}use one of ${labels.join(", ")}`;
  return `${id} has no label ${label}; ${advice}`;
}

/**
 * The schema versions of the catalogs that are read, usually one; `none` without entries.
 *
 * @throws ApiError `schema_version_gone` when the request pins another one
 */
export function schemaVersionOf(entries: readonly MetricEntry[], pinned: string | undefined): string {
  const served = joinedVersions(entries.map(({ schemaVersion }) => schemaVersion));
  if (pinned === undefined || pinned === served || entries.length === 0) return served;
  throw invalidField(
    "schema_version_gone",
    "schema_version",
    `these metrics are served in schema version ${served}, not ${shown(pinned)}; request ${served} or no version`,
  );
}

/** The versions of catalogs in one text; `none` of no catalog. */
export function joinedVersions(versions: Iterable<string>): string {
  return [...new Set(versions)].sort().join(",") || "none";
}

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
  for (const entry of catalog.values())
    if (mayRead(entry, caller, access) && !isPastSunset(entry.metric, nowMs)) yield entry.metric.id;
}

/** True from the sunset of a metric on. The API then neither lists nor reads it. */
export function isPastSunset({ sunsetAtMs }: MetricConfig, nowMs: number): boolean {
  return sunsetAtMs !== undefined && nowMs >= sunsetAtMs;
}

/** @throws ApiError `metric_gone` for the first metric past its sunset; it names the replacement */
export function rejectSunset(metrics: readonly MetricConfig[], nowMs: number): void {
  const gone = metrics.find((metric) => isPastSunset(metric, nowMs));
  if (gone?.sunsetAtMs === undefined) return;
  const instead =
    gone.replacedBy === undefined ? "it has no replacement; remove it" : `query ${gone.replacedBy} instead`;
  throw invalidField(
    "metric_gone",
    "metric",
    `the metric ${gone.id} ended on ${formatTime(gone.sunsetAtMs)}; ${instead}`,
  );
}
