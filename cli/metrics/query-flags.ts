// Commands that read metrics and objectives of a server.
import { labelNames } from "../../crds/config.ts";
import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { formatTime, parseDuration } from "../../runtime/metrics/request/time.ts";

/** The parameters of a request, in the form of `ApiRequest`. */
export type QueryParameters = Readonly<Record<string, string | readonly string[] | undefined>>;

export const tenantFlag: Flag = { name: "tenant", value: "TENANT", help: "Only this tenant." };

/** Flags that become parameters of `GET /v1/metrics/query`. */
export const queryFlags = [
  {
    name: "from",
    value: "TIME",
    help: "Start, such as 2026-01-31T08:00:00Z, now-6h or Unix seconds; defaults to three hours before the end.",
  },
  { name: "to", value: "TIME", help: "End; defaults to now." },
  { name: "last", value: "DURATION", help: "Time range up to now, such as 30m, 6h or 7d, instead of --from and --to." },
  { name: "step", value: "DURATION", help: "Width of a point; chosen by the server by default." },
  { name: "agg", value: "AGG", help: "An aggregation such as max or p95; defaults to that of the metric." },
  { name: "downsample", value: "WIDTH", help: "Minimum width of a point: 1m, 5m or 1h." },
  {
    name: "filter",
    value: "LABEL=VALUE",
    help: "Only series with this label value; repeat a label for several values. A value may contain commas.",
    multiple: true,
  },
  tenantFlag,
  { name: "group-by", value: "LABEL", help: "Label to group by.", multiple: true },
  { name: "top", value: "N", help: "Only the N top series of each metric, and the sum of the others." },
  { name: "by", value: "VALUE", help: "Value that --top ranks by: max (the default), avg or last." },
  { name: "order", value: "ORDER", help: "Order of --top: desc (the default), or asc for the lowest series." },
  {
    name: "compare",
    value: "DURATION",
    help: "Adds the window that is this much earlier, such as 1d, and the change.",
  },
  { name: "complete", help: "Fails if a region is missing from the result." },
] as const satisfies readonly Flag[];

/**
 * The parameters that the flags and metrics give. The server checks what they mean.
 *
 * @param nowMs the end of `--last`; undefined for a request that is not sent now, which keeps `last`
 * @throws UsageError
 */
export function queryParameters(given: Given, metrics: readonly string[], nowMs: number | undefined): QueryParameters {
  const groupBy = given.list("group-by");
  return {
    metric: metrics,
    ...timesOf(given, nowMs),
    step: given.optional("step"),
    agg: given.optional("agg"),
    downsample: given.optional("downsample"),
    group_by: groupBy.length === 0 ? undefined : groupBy.join(","),
    top: given.optional("top"),
    by: given.optional("by"),
    order: given.optional("order"),
    compare: given.optional("compare"),
    complete: given.isSet("complete") ? "required" : undefined,
    ...filtersOf(given),
  };
}

/** The time range of `--from`, `--to` and `--last`. @throws UsageError */
export function timesOf(given: Given, nowMs: number | undefined): QueryParameters {
  const [from, to, last] = ["from", "to", "last"].map((name) => given.optional(name));
  if (last === undefined) return { from, to };
  if (from !== undefined || to !== undefined) throw new UsageError("--last cannot be combined with --from or --to.");
  const seconds = parseDuration(last);
  if (seconds === undefined)
    throw new UsageError(`--last must be a duration such as 30m, 6h or 7d, at most 3660d, not ${last}.`);
  // An earlier server has no `last`.
  return nowMs === undefined ? { last } : { from: formatTime(nowMs - seconds * 1000), to: formatTime(nowMs) };
}

/** A comma before another LABEL=. Other commas are part of the value. */
const nextFilter = new RegExp(`,(?=(?:${labelNames.join("|")})=)`, "u");

/** One value of a label is exact; several are those of a repeated label. */
function filtersOf(given: Given): QueryParameters {
  const tenant = given.optional("tenant");
  const texts = given.texts("filter").flatMap((text) => text.split(nextFilter));
  const filters = texts.map((text): readonly [string, string] => {
    const { label, value } = /^(?<label>[^=]+)=(?<value>.+)$/u.exec(text)?.groups ?? {};
    if (label === undefined || value === undefined) throw new UsageError(`--filter must be LABEL=VALUE, not ${text}.`);
    return [label, value];
  });
  const all = [...filters, ...(tenant === undefined ? [] : [["tenant", tenant] as const])];
  const byLabel = [...Map.groupBy(all, ([label]) => label)];
  return Object.fromEntries(
    byLabel.map(([label, pairs]) => {
      const values = pairs.map(([, value]) => value);
      if (values.length === 1) return [`filter[${label}]`, values[0]];
      if (label === "tenant") throw new UsageError("filter[tenant] is given twice.");
      return [`filter_in[${label}]`, values];
    }),
  );
}
