import type { LabelName } from "../../../crds/config.ts";
import { accessOf, claimedNames } from "../authorization/access.ts";
import type { Caller } from "../authorization/caller.ts";
import { tenantOf } from "../authorization/policy.ts";
import type { Query, QueryContext } from "../planning/query.ts";
import type { Parameters } from "../request/parameters.ts";
import { readInstant, readQuery, type Selection } from "../request/read-query.ts";
import { endAt, formatTime, parseDuration, parseRequestedTime, timeAt } from "../request/time.ts";

/** A query as its caller sent it. */
export interface AskedQuery {
  readonly route: "query" | "instant";
  readonly params: Parameters;
  readonly caller: Caller;
  readonly nowMs: number;
  /** Undefined when the query was refused. */
  readonly query: Query | undefined;
}

/** Parameters of closed forms, which hold no data of persons. */
const keptNames = ["agg", "step", "downsample", "limit", "schema_version"] as const;

/**
 * What an edit can change about a query. It has the names of filters and not their values, but for the tenant, which
 * decides who may see it, and for regions and environments that the configuration or the token names.
 */
export interface QueryShape {
  readonly route: AskedQuery["route"];
  readonly tenant: string;
  readonly metrics: readonly string[];
  readonly groupBy: readonly LabelName[];
  readonly filters: readonly LabelName[];
  readonly region?: string;
  readonly environment?: string;
  /** @default the default window of the class */
  readonly windowSeconds?: number;
  readonly kept: Readonly<Partial<Record<(typeof keptNames)[number], string>>>;
  /** The claims of the caller, without its tenants. */
  readonly caller: Omit<Caller, "tenants" | "partners">;
}

/** Stands in for the value of a filter, which no plan and no cost depend on. */
const anyValue = "any";
const metricForm = /^[a-z][a-z0-9_]{0,63}$/u;
const versionForm = /^[\w.,-]{1,64}$/u;
const minuteSeconds = 60;
const exactSecondsMax = 3_600;

/**
 * The shape of a query; undefined for one that no edit would allow.
 *
 * @throws Refusal for a query that no configuration accepts
 */
export function shapeOf(asked: AskedQuery, context: QueryContext): QueryShape | undefined {
  const { route, params, caller, query } = asked;
  const selection = query === undefined ? selectionOf(route, params) : selected(query);
  const { metrics, filters, groupBy } = selection;
  if (!metrics.every((id) => metricForm.test(id))) return undefined;
  const { client, regions, environments, roles, scopes } = caller;
  return {
    route,
    tenant: query?.tenant ?? tenantOf(filters, claimedNames(caller.tenants)),
    metrics,
    groupBy,
    filters: [...filters.keys()].sort(),
    ...placeOf(selection, asked, context),
    ...windowOf(asked),
    kept: keptOf(params),
    caller: { client, regions, environments, metrics: caller.metrics, roles, scopes },
  };
}

type Selected = Pick<Selection, "metrics" | "filters" | "groupBy">;

function selected({ metrics, filters, groupBy }: Query): Selected {
  return { metrics: metrics.map(({ entry }) => entry.metric.id), filters, groupBy };
}

function selectionOf(route: AskedQuery["route"], params: Parameters): Selected {
  return (route === "query" ? readQuery(params) : readInstant(params)).selection;
}

function keptOf(params: Parameters): QueryShape["kept"] {
  const kept: { -readonly [name in keyof QueryShape["kept"]]: string } = {};
  for (const name of keptNames) {
    const value = params.get(name)?.[0];
    if (value !== undefined && versionForm.test(value)) kept[name] = value;
  }
  return kept;
}

/** Whole seconds, above an hour whole minutes, both rounded up: equal panels have equal windows. */
function windowOf({ route, params, nowMs }: AskedQuery): Pick<QueryShape, "windowSeconds"> {
  const lastSeconds = parseDuration(params.get("last")?.[0] ?? "");
  const timeOf = (name: string, at: typeof timeAt): number | undefined => {
    const time = parseRequestedTime(params.get(name)?.[0] ?? "");
    return time && at(time, nowMs);
  };
  const fromMs = lastSeconds === undefined ? timeOf("from", timeAt) : nowMs - lastSeconds * 1_000;
  if (route !== "query" || fromMs === undefined) return {};
  const toMs = Math.min(timeOf("to", endAt) ?? nowMs, nowMs);
  const seconds = Math.ceil((toMs - fromMs) / 1_000);
  const unit = seconds <= exactSecondsMax ? 1 : minuteSeconds;
  return { windowSeconds: Math.max(1, Math.ceil(seconds / unit) * unit) };
}

/** The region and the environment that stores are selected by, if they are known names; of several the first. */
function placeOf(
  { metrics, filters }: Selected,
  asked: AskedQuery,
  context: QueryContext,
): Pick<QueryShape, "region" | "environment"> {
  const [region, environment] = [filters.get("region")?.[0], filters.get("environment")?.[0]];
  const isOfStore = (label: "region" | "environment", value: string): boolean =>
    metrics.some((id) => context.catalog.get(id)?.stores.some(({ config }) => config[label] === value));
  const isKnown = (value: string): boolean => isOfStore("environment", value) || isGranted(value, asked, context);
  return {
    ...(region !== undefined && isOfStore("region", region) ? { region } : {}),
    ...(environment !== undefined && isKnown(environment) ? { environment } : {}),
  };
}

/** True for an environment that the token or a quota names. */
function isGranted(environment: string, { caller }: AskedQuery, { quotas }: QueryContext): boolean {
  const { environments } = accessOf(caller, quotas);
  return environments !== "every" && environments.has(environment);
}

/** A query of this shape that ends at a time. */
export function queryLike(shape: QueryShape, nowMs: number): { readonly params: Parameters; readonly caller: Caller } {
  const { route, tenant, metrics, groupBy, windowSeconds, kept } = shape;
  const filters: readonly LabelName[] = [...new Set([...shape.filters, "tenant" as const])];
  const values: Readonly<Partial<Record<LabelName, string>>> = {
    tenant,
    region: shape.region ?? anyValue,
    environment: shape.environment ?? anyValue,
  };
  const hasWindow = route === "query" && windowSeconds !== undefined;
  return {
    params: new Map([
      ["metric", metrics],
      ...filters.map((label) => [`filter[${label}]`, [values[label] ?? anyValue]] as const),
      ...(groupBy.length === 0 ? [] : [["group_by", [groupBy.join(",")]] as const]),
      ...Object.entries(kept).map(([name, value]) => [name, [value]] as const),
      ...(hasWindow ? [["from", [formatTime(Math.max(0, nowMs - windowSeconds * 1_000))]] as const] : []),
    ]),
    caller: { ...shape.caller, tenants: [tenant] },
  };
}
