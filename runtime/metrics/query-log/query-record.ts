import type { LabelName } from "../../../crds/config.ts";
import { ApiError } from "../../errors/api-error.ts";
import { accessOf, type Caller, claimedNames } from "../authorization/access.ts";
import { tenantOf } from "../authorization/policy.ts";
import type { Query, QueryContext } from "../planning/query.ts";
import type { Parameters } from "../request/parameters.ts";
import { readInstant, readQuery, type Selection } from "../request/read-query.ts";
import { endAt, formatTime, parseDuration, parseRequestedTime, timeAt } from "../request/time.ts";

/** The shapes of recent queries of this pod, in memory only. */
export interface QueryRecord {
  /** Counts a query by its shape. A query that no configuration accepts does not count. */
  add(logged: LoggedQuery, context: QueryContext): void;
  read(): RecordedQueries;
}

/** The recorded queries of one pod. It is a message between pods. */
export interface RecordedQueries {
  /** Version of this message. */
  readonly form: 1;
  /** Unix milliseconds. */
  readonly sinceMs: number;
  /** Queries since then, with those of shapes that are no longer stored. */
  readonly seen: number;
  readonly shapes: readonly { readonly shape: QueryShape; readonly count: number }[];
}

/** Shapes of one pod, and of one client in it. Above both, the oldest shape is removed. */
export const shapesMax = 500;
export const clientShapesMax = 100;
/** Bytes of one shape. All shapes of a pod fit into one message of NATS. */
export const shapeBytesMax = 1_400;
export const recordedMs = 24 * 3_600_000;

interface CountedShape {
  readonly shape: QueryShape;
  readonly firstMs: number;
  count: number;
}

/** Creates an empty record. A shape is removed a day after its first query; the next query begins it again. */
export function createQueryRecord(now: () => number): QueryRecord {
  // In the order of the first query.
  const shapes = new Map<string, CountedShape>();
  const clients = new Map<string, number>();
  const startMs = now();
  let lost = { sinceMs: startMs, count: 0 };
  const lose = (count: number, nowMs: number): void => {
    if (nowMs - lost.sinceMs >= recordedMs) lost = { sinceMs: nowMs, count: 0 };
    lost.count += count;
  };
  const remove = (key: string, { shape: { caller } }: CountedShape): void => {
    shapes.delete(key);
    const left = (clients.get(caller.client) ?? 1) - 1;
    if (left === 0) clients.delete(caller.client);
    else clients.set(caller.client, left);
  };
  const dropOld = (nowMs: number): void => {
    for (const [key, counted] of shapes) {
      if (nowMs - counted.firstMs < recordedMs) return;
      remove(key, counted);
    }
  };
  const makeSpace = (client: string, nowMs: number): void => {
    const isOwn = (clients.get(client) ?? 0) >= clientShapesMax;
    if (!isOwn && shapes.size < shapesMax) return;
    const oldest = shapes.entries().find(([, { shape }]) => !isOwn || shape.caller.client === client);
    if (oldest === undefined) return;
    remove(...oldest);
    lose(oldest[1].count, nowMs);
  };
  const count = (shape: QueryShape, nowMs: number): void => {
    const key = JSON.stringify(shape);
    const known = shapes.get(key);
    if (known !== undefined && nowMs - known.firstMs < recordedMs) {
      known.count += 1;
      return;
    }
    dropOld(nowMs);
    if (Buffer.byteLength(key) > shapeBytesMax) {
      lose(1, nowMs);
      return;
    }
    const { client } = shape.caller;
    makeSpace(client, nowMs);
    shapes.set(key, { shape, firstMs: nowMs, count: 1 });
    clients.set(client, (clients.get(client) ?? 0) + 1);
  };
  return {
    add(logged, context) {
      try {
        const shape = shapeOf(logged, context);
        if (shape !== undefined) count(shape, now());
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
      }
    },
    read() {
      const nowMs = now();
      dropOld(nowMs);
      lose(0, nowMs);
      const kept = [...shapes.values()].map(({ shape, count: own }) => ({ shape, count: own }));
      const seen = kept.reduce((sum, { count: own }) => sum + own, lost.count);
      return { form: 1, sinceMs: Math.max(startMs, nowMs - recordedMs), seen, shapes: kept };
    },
  };
}

/** A query as its caller sent it. */
interface LoggedQuery {
  readonly route: "query" | "instant";
  readonly params: Parameters;
  readonly caller: Caller;
  readonly nowMs: number;
  /** Undefined when the query was rejected. */
  readonly query: Query | undefined;
}

/** Parameters of closed forms, which hold no data of persons. */
const keptNames = ["agg", "step", "downsample", "limit", "top", "by", "order", "compare", "schema_version"] as const;

/**
 * What an edit can change about a query. It has the names of filters and not their values, except for the tenant, which
 * decides who may see it, and for regions and environments that the configuration or the token names.
 */
export interface QueryShape {
  readonly route: LoggedQuery["route"];
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
 * @throws ApiError for a query that no configuration accepts
 */
function shapeOf(logged: LoggedQuery, context: QueryContext): QueryShape | undefined {
  const { route, params, caller, query } = logged;
  const selection = query === undefined ? selectionOf(route, params) : { ...query, metrics: idsOf(query) };
  const { metrics, filters, groupBy } = selection;
  if (!metrics.every((id) => metricForm.test(id))) return undefined;
  const { client, regions, environments, roles, scopes } = caller;
  return {
    route,
    tenant: query?.tenant ?? tenantOf(filters, claimedNames(caller.tenants)),
    metrics,
    groupBy,
    filters: [...filters.keys()].sort(),
    ...placeOf(selection, logged, context),
    ...windowOf(logged),
    kept: keptOf(params),
    caller: { client, regions, environments, metrics: caller.metrics, roles, scopes },
  };
}

type Selected = Pick<Selection, "metrics" | "filters" | "groupBy">;

function idsOf({ metrics }: Query): readonly string[] {
  return metrics.map(({ entry }) => entry.metric.id);
}

function selectionOf(route: LoggedQuery["route"], params: Parameters): Selected {
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
function windowOf({ route, params, nowMs }: LoggedQuery): Pick<QueryShape, "windowSeconds"> {
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
  logged: LoggedQuery,
  context: QueryContext,
): Pick<QueryShape, "region" | "environment"> {
  const [region, environment] = [filters.get("region")?.[0], filters.get("environment")?.[0]];
  const isOfStore = (label: "region" | "environment", value: string): boolean =>
    metrics.some((id) => context.catalog.get(id)?.stores.some(({ config }) => config[label] === value));
  const isKnown = (value: string): boolean => isOfStore("environment", value) || isGranted(value, logged, context);
  return {
    ...(region !== undefined && isOfStore("region", region) ? { region } : {}),
    ...(environment !== undefined && isKnown(environment) ? { environment } : {}),
  };
}

/** True for an environment that the token or a quota names. */
function isGranted(environment: string, { caller }: LoggedQuery, { quotas }: QueryContext): boolean {
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
