import type { QueryAnswer } from "../../api/queries.ts";
import type { PlanAnswer } from "../../api/quotas.ts";
import { type ApiConnection, type Connect, connectionFlags, connectionOf } from "../api/connection.ts";
import { type Column, createOutput } from "../api/output.ts";
import { type ApiRequest, send, sendForJson } from "../api/request.ts";
import { withApi } from "../api/with-api.ts";
import type { Command, ExitName } from "../command-line/command.ts";
import { type Environment, type Given, oneOf, UsageError } from "../command-line/flags.ts";
import { inShell, plain, say } from "../command-line/terminal.ts";
import { chartOf, highest, labelText, lowest, missingRegions, type Series, shortNumber } from "./series.ts";
import { queryFlags, queryParameters, type QueryParameters } from "./query-flags.ts";

/** `heliograph query` */
export const queryCommand: Command<QueryArguments & { readonly isPlan: boolean }> = {
  summary: "Queries metrics over a time range and prints a table, a chart, CSV, JSON or a curl command.",
  operands: [{ name: "METRIC", isRepeated: true }],
  flags: [
    ...queryFlags,
    {
      name: "plan",
      help: "Prints the plan and the estimated cost of the query, as text or json, without reading data.",
    },
    {
      name: "output",
      short: "o",
      value: "FORM",
      help:
        "Output format: table, chart, csv, json (as the server sends it) or curl (prints the request without " +
        "sending it).",
      variable: "HELIOGRAPH_QUERY_OUTPUT",
      standard: "table",
    },
    ...connectionFlags,
  ],
  read: (given, metrics) => {
    const output = outputOf(given);
    return {
      connect: connectionOf(given),
      query: queryParameters(given, metrics, output === "curl" ? undefined : Date.now()),
      output,
      isPlan: given.isSet("plan"),
      tokenFile: given.optional("token-file"),
    };
  },
  run: async (args, { environment }) => {
    if (!args.isPlan) return printQuery(args, environment);
    return printPlan({ ...args, isJson: args.output === "json" });
  },
};

interface QueryArguments {
  readonly connect: Connect;
  readonly query: QueryParameters;
  readonly output: (typeof outputs)[number];
  readonly tokenFile: string | undefined;
}

const outputs = ["table", "chart", "csv", "json", "curl"] as const;

interface PlanArguments {
  readonly connect: Connect;
  readonly query: QueryParameters;
  readonly isJson: boolean;
}

function outputOf(given: Given): QueryArguments["output"] {
  const output = oneOf(given, "output", outputs);
  if (!given.isSet("plan") || output === "table" || output === "json") return output;
  throw new UsageError(`--plan supports table or json, not ${output}.`);
}

/** Reads metrics and prints them. @throws CommandError */
async function printQuery(args: QueryArguments, environment: Environment): Promise<ExitName> {
  return withApi(args.connect, async (connection): Promise<ExitName> => {
    const request: ApiRequest = { path: "/v1/metrics/query", query: args.query };
    const { output } = args;
    if (output === "curl") printCurl(connection, args);
    else if (output === "csv") {
      const { body, status } = await send(connection, { ...request, headers: { accept: "text/csv" } });
      process.stdout.write(process.stdout.isTTY ? body.toString().split(/\r?\n/u).map(plain).join("\n") : body);
      if (status === 206) say("a region is missing; use -o json to see which");
    } else if (output === "json")
      process.stdout.write(`${(await send(connection, request)).body.toString().trimEnd()}\n`);
    else printBody(await sendForJson<QueryAnswer>(connection, request), output, environment);
    return "done";
  });
}

function printCurl({ url, serverName }: ApiConnection, { query, tokenFile }: QueryArguments): void {
  process.stdout.write(curlOf(url, query, tokenFile));
  // Only a connection through a cluster has a name of its own.
  if (serverName !== undefined)
    say("the port of this address closes with the command; use kubectl port-forward and pass that address instead");
}

function printBody(body: QueryAnswer, output: "table" | "chart", environment: Environment): void {
  const { data, meta } = body;
  const window = { fromMs: Date.parse(meta.from), toMs: Date.parse(meta.to) };
  process.stdout.write(
    output === "chart"
      ? data.map((series) => chartOf(series, window)).join("\n")
      : createOutput("table", environment).table(columnsOf(meta), data),
  );
  sayNotes(body);
}

/** What a table or a chart cannot show. */
function sayNotes({ data, meta, errors = [] }: QueryAnswer): void {
  for (const { metric, detail } of errors) say(`${metric}: ${detail}`);
  if (data.length === 0 && errors.length === 0) say("no series has points in this time range");
  for (const hint of meta.hints ?? []) say(hint);
  sayDeprecated(meta);
  sayMissing(meta);
  sayCompared(meta);
  if (meta.has_more) say(`${data.length} of ${meta.total_series} series; narrow the query with --filter`);
}

function sayDeprecated({ deprecated = [] }: QueryAnswer["meta"]): void {
  for (const { metric, sunset_at: end, replaced_by: other } of deprecated)
    say(`${metric} is deprecated, and ends ${end.slice(0, 10)}${other === undefined ? "" : `; use ${other}`}`);
}

function sayMissing({ regions, partial, infinite_points: infinite }: QueryAnswer["meta"]): void {
  if (partial) say(`partial: ${missingRegions(regions).join(", ") || "some data is missing"}`);
  if (infinite !== undefined) say(`${infinite} infinite points are left out`);
}

/** What a comparison cannot show in its lines. */
function sayCompared({ top, compare }: QueryAnswer["meta"]): void {
  for (const { metric, omitted, reason } of top?.metrics ?? [])
    if (reason !== undefined) say(`${metric}: ${omitted} other series without a sum, because ${reason}`);
  if (compare?.partial === true) {
    const missing = missingRegions(compare.regions).join(", ") || "some data is missing";
    say(`the window ${compare.shift} earlier is partial: ${missing}`);
  }
}

const numbers = (series: Series): readonly number[] => series.points.map(([, value]) => value);
const columns: readonly Column<Series>[] = [
  { title: "METRIC", cell: ({ metric }) => metric },
  { title: "LABELS", cell: ({ labels, other }) => (other === undefined ? labelText(labels) : `(${other} others)`) },
  { title: "POINTS", cell: ({ points }) => points.length },
  { title: "MIN", cell: (series) => shortNumber(lowest(numbers(series))) },
  { title: "MAX", cell: (series) => shortNumber(highest(numbers(series))) },
  { title: "LAST", cell: ({ points }) => shortNumber(points.at(-1)?.[1]) },
  { title: "AT", cell: ({ points }) => points.at(-1)?.[0] },
];

const rankColumn: Column<Series> = { title: "RANK", cell: ({ rank }) => rank };
const comparedColumns: readonly Column<Series>[] = [
  { title: "BEFORE", cell: (series) => shortNumber(beforeOf(series)) },
  { title: "CHANGE", cell: ({ change }) => percent(change?.at(-1)?.[1]) },
];

/** The earlier value at the time of the last point; of a series without points, its last one. */
function beforeOf({ points, previous = [] }: Series): number | undefined {
  const at = points.at(-1)?.[0] ?? previous.at(-1)?.[0];
  return previous.find(([time]) => time === at)?.[1];
}

function percent(share: number | null | undefined): string | undefined {
  if (share === null || share === undefined) return undefined;
  return `${share > 0 ? "+" : ""}${shortNumber(Math.round(share * 1_000) / 10)}%`;
}

function columnsOf({ top, compare }: QueryAnswer["meta"]): readonly Column<Series>[] {
  const ranked = top === undefined ? columns : [rankColumn, ...columns];
  return compare === undefined ? ranked : [...ranked, ...comparedColumns];
}

/** Prints the plan and the cost of a query, which is not run. @throws CommandError */
async function printPlan({ connect, query, isJson }: PlanArguments): Promise<ExitName> {
  return withApi(connect, async (connection): Promise<ExitName> => {
    const { body } = await send(connection, { path: "/v1/metrics/plan", query });
    const text = body.toString().trimEnd();
    process.stdout.write(`${isJson ? text : planText(JSON.parse(text) as PlanAnswer)}\n`);
    return "done";
  });
}

/** One line for each known member. */
function planText(plan: PlanAnswer): string {
  const lines = [["allowed", plan.allowed ? "yes" : "no"] as const, ...rejectionLines(plan), ...planLines(plan)];
  return lines
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(10)}${plain(value)}`]))
    .join("\n");
}

type Line = readonly [name: string, value: string | undefined];

function rejectionLines({ refusal }: PlanAnswer): readonly Line[] {
  if (refusal === null) return [];
  const { code, detail, suggestion } = refusal;
  return [
    ["refused", `${code}: ${detail}`],
    ["instead", suggestion?.query ?? (suggestion?.step && `step=${suggestion.step}`)],
  ];
}

function planLines({ cost, budget, cache, regions, expression, ...plan }: PlanAnswer): readonly Line[] {
  if (cost === null) return [];
  return [
    ["class", plan.class ?? undefined],
    [
      "cost",
      `${shortNumber(cost)} cost units; ${shortNumber(budget.remaining)} of ${shortNumber(budget.limit)} are left`,
    ],
    ["compare", plan.compare && `${plan.compare.from} to ${plan.compare.to}; the cost has both windows`],
    ["top", plan.top && `${plan.top.count} of at most ${plan.top.candidates_max} series of each metric`],
    ["points", `${plan.points} of ${plan.step_seconds} s for each of at most ${plan.series_max} series`],
    ["regions", regions.map(({ region, stores }) => `${region} (stores: ${stores})`).join(", ")],
    ["cache", cache?.expected ?? "off"],
    ["promql", expression ?? undefined],
  ];
}

/** A command line of curl that sends the same request. The token stays in its file or in the environment. */
export function curlOf(url: string, query: QueryParameters, tokenFile: string | undefined): string {
  const target = new URL(`${url}/v1/metrics/query`);
  for (const [name, value] of Object.entries(query))
    for (const text of [value ?? []].flat()) target.searchParams.append(name, text);
  const token = tokenFile === undefined ? "$HELIOGRAPH_TOKEN" : `$(cat ${inShell(tokenFile)})`;
  return `curl -sS --fail-with-body -H "Authorization: Bearer ${token}" ${inShell(target.href)}\n`;
}
