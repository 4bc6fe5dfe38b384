import type { DurationUnit } from "../../api/documents.ts";
import type { CheaperQuery } from "../../api/quotas.ts";
import { linkTime } from "../router/link-time.ts";
import { changedQuery, type QueryChange } from "../router/place.ts";

/** The query in the address of the page. */
export interface ExplorerQuery {
  /** Empty: no metric is chosen. */
  readonly metric: string;
  /** Empty: the default of the metric. */
  readonly agg: string;
  readonly filters: Readonly<Record<string, string>>;
  readonly groupBy: readonly string[];
  /** A span that ends now, such as `3h`; empty between two times. */
  readonly range: string;
  /** ISO 8601; both are empty with a range. */
  readonly from: string;
  readonly to: string;
  /** Empty: the server's choice. */
  readonly step: string;
  readonly downsample: string;
  /** Number of the top series; empty: all series. */
  readonly top: string;
  /** What they are ranked by, and in which order; empty: the highest maximum first. */
  readonly by: string;
  readonly order: string;
  /** Time to an earlier window, such as `1d`; empty: none. */
  readonly compare: string;
  /** From 1. */
  readonly page: number;
  /** False for a dry run, which reads the plan only. */
  readonly runs: boolean;
  /** One of {@link refreshIntervals}; empty without. A range that does not end now is never refreshed. */
  readonly refresh: string;
}

/** How often a chart can be read again. */
export const refreshIntervals = [
  { name: "10s", label: "10 s" },
  { name: "30s", label: "30 s" },
  { name: "1m", label: "1 min" },
  { name: "5m", label: "5 min" },
] as const;

const rangeDefault = "1h";
/** Series of one page: as many as a chart shows well. */
const seriesShown = 20;

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 } satisfies Record<
  DurationUnit,
  number
>;

/** Seconds of a duration such as `90s` or `3h`; undefined for another text. */
export function secondsOf(duration: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,9})([smhdw])$/u.exec(duration) ?? [];
  const seconds = unitSeconds[unit];
  return count === undefined || seconds === undefined ? undefined : Number(count) * seconds;
}

/** A duration with spaces: `1 w`, `1 h 30 min`. */
export function durationText(duration: string): string {
  return duration
    .replaceAll(/(\d+)([a-z]+)/gu, (_all, count, unit) => `${count} ${unit === "m" ? "min" : unit} `)
    .trim();
}

const [byDefault, orderDefault] = ["max", "desc"];

/** A ranking as the value of one choice; empty for all series. */
export function rankingValue({ top, by, order }: Pick<ExplorerQuery, "top" | "by" | "order">): string {
  return top === "" ? "" : [top, order || orderDefault, by || byDefault].join(",");
}

/** The value of a ranking in words: `5 highest by max`. */
export function rankingText(value: string): string {
  const [top, order, by] = value.split(",");
  return `${top} ${order === "asc" ? "lowest" : "highest"} by ${by}`;
}

/** The change of the address that ranks by the value of a choice. Defaults are left out. */
export function rankingChange(value: string): QueryChange {
  const [top = "", order = "", by = ""] = value.split(",");
  return { top, order: order === orderDefault ? "" : order, by: by === byDefault ? "" : by };
}

/** Reads the query of an address. Values that no form writes are kept, and the server checks them. */
export function explorerQuery(query: URLSearchParams): ExplorerQuery {
  const get = (name: string): string => query.get(name) ?? "";
  const filters = [...query].flatMap(([name, value]) => {
    const [, label] = /^filter\[(\w+)\]$/u.exec(name) ?? [];
    return label === undefined || value === "" ? [] : [[label, value] as const];
  });
  const [from, to] = [get("from"), get("to")];
  const isSpan = from === "" && to === "";
  return {
    metric: get("metric"),
    agg: get("agg"),
    filters: Object.fromEntries(filters),
    groupBy: get("group_by")
      .split(",")
      .filter((label) => label !== ""),
    range: isSpan ? (secondsOf(get("range")) === undefined ? rangeDefault : get("range")) : "",
    from,
    to,
    step: get("step"),
    downsample: get("downsample"),
    top: get("top"),
    by: get("by"),
    order: get("order"),
    compare: get("compare"),
    page: Math.max(1, Math.trunc(Number(get("page"))) || 1),
    runs: get("run") !== "0",
    refresh: isSpan && refreshIntervals.some(({ name }) => name === get("refresh")) ? get("refresh") : "",
  };
}

/** Seconds between two refreshes; undefined without. */
export function refreshSecondsOf({ refresh }: Pick<ExplorerQuery, "refresh">): number | undefined {
  return secondsOf(refresh);
}

/** Times as the API accepts them. A range ends at `nowMs`, and relative times are relative to it. */
export function timesOf(
  { range, from, to }: ExplorerQuery,
  nowMs: number,
): { readonly from: string; readonly to: string } {
  const seconds = secondsOf(range);
  if (seconds === undefined) return { from: linkTime(from, nowMs), to: linkTime(to, nowMs, true) };
  return { from: new Date(nowMs - seconds * 1_000).toISOString(), to: new Date(nowMs).toISOString() };
}

/** The parameters of the API, `?metric=…`, for `/v1/metrics/query` and `/v1/metrics/plan`. */
export function queryText(request: ExplorerQuery, nowMs: number): string {
  const { metric, agg, filters, groupBy, step, downsample, top, by, order, compare, page } = request;
  const named = Object.entries(filters).map(([label, value]) => [`filter[${label}]`, value] as const);
  return changedQuery(new URLSearchParams(), {
    metric,
    agg,
    ...Object.fromEntries(named),
    group_by: groupBy.join(","),
    ...timesOf(request, nowMs),
    step,
    downsample,
    top,
    by,
    order,
    compare,
    limit: String(seriesShown),
    page: page === 1 ? "" : String(page),
  });
}

/** The path of the values that a label has within the other filters and the times. */
export function labelValuesPath(request: ExplorerQuery, label: string, nowMs: number): string {
  const others = Object.entries(request.filters).filter(([name]) => name !== label);
  const query = changedQuery(new URLSearchParams(), {
    metric: request.metric,
    ...Object.fromEntries(others.map(([name, value]) => [`filter[${name}]`, value])),
    ...timesOf(request, nowMs),
  });
  return `/v1/metrics/labels/${encodeURIComponent(label)}/values${query}`;
}

/** The change of the address that requests a cheaper query. The times stay, since a range moves with the clock. */
export function cheaperChange({ step, downsample, query }: CheaperQuery): Readonly<Record<string, string>> {
  const whole = new URLSearchParams(query ?? "");
  const [newStep, newDownsample] = [step ?? whole.get("step"), downsample ?? whole.get("downsample")];
  return {
    ...(newStep === null ? {} : { step: newStep }),
    ...(newDownsample === null ? {} : { downsample: newDownsample }),
  };
}

/** What a cheaper query changes, in words: `a step of 5m`. */
export function cheaperWords(suggestion: CheaperQuery): string {
  const { step, downsample } = cheaperChange(suggestion);
  const words = [
    ...(step === undefined ? [] : [`a step of ${step}`]),
    ...(downsample === undefined ? [] : [`a downsample of ${downsample}`]),
  ];
  return words.join(" and ");
}
