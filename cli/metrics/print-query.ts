import { plain } from "../command-line/plain.ts";
import type { Environment } from "../command-line/given.ts";
import type { Connect } from "../api/connection.ts";
import { createOutput, type Column } from "../api/output.ts";
import { send, sendForJson, type ApiRequest } from "../api/request.ts";
import { say } from "../api/terminal.ts";
import { withApi } from "../api/with-api.ts";
import type { ExitName } from "../command-line/exit-codes.ts";
import { chartOf } from "./chart.ts";
import { curlOf } from "./curl.ts";
import type { QueryParameters } from "./query-flags.ts";
import { highest, labelText, lowest, shortNumber, type Series } from "./series.ts";

export interface QueryArguments {
  readonly connect: Connect;
  readonly query: QueryParameters;
  readonly output: "table" | "chart" | "csv" | "json" | "curl";
  readonly tokenFile: string | undefined;
}

interface QueryBody {
  readonly data: readonly Series[];
  readonly meta: {
    readonly partial: boolean;
    readonly has_more: boolean;
    readonly total_series: number;
    readonly from: string;
    readonly to: string;
    readonly infinite_points?: number;
    readonly regions: readonly { readonly region: string; readonly state: string }[];
    readonly hints?: readonly string[];
  };
  readonly errors?: readonly { readonly metric: string; readonly detail: string }[];
}

const widthDefault = 80;

/** Reads metrics and prints them. @throws CommandError */
export async function printQuery(args: QueryArguments, environment: Environment): Promise<ExitName> {
  return withApi(args.connect, async (connection): Promise<ExitName> => {
    const request: ApiRequest = { path: "/v1/metrics/query", query: args.query };
    const { output } = args;
    if (output === "curl") process.stdout.write(curlOf(connection.url, args.query, args.tokenFile));
    else if (output === "csv") {
      const { body, status } = await send(connection, { ...request, headers: { accept: "text/csv" } });
      process.stdout.write(process.stdout.isTTY ? body.toString().split(/\r?\n/u).map(plain).join("\n") : body);
      if (status === 206) say("some region is missing; -o json names it");
    } else if (output === "json")
      process.stdout.write(`${(await send(connection, request)).body.toString().trimEnd()}\n`);
    else printBody(await sendForJson<QueryBody>(connection, request), output, environment);
    return "done";
  });
}

function printBody(body: QueryBody, output: "table" | "chart", environment: Environment): void {
  const { data, meta } = body;
  const window = { fromMs: Date.parse(meta.from), toMs: Date.parse(meta.to) };
  const width = process.stdout.columns || widthDefault;
  process.stdout.write(
    output === "chart"
      ? data.map((series) => chartOf(series, window, width)).join("\n")
      : createOutput("table", environment).table(columns, data),
  );
  sayNotes(body);
}

function sayHints({ hints = [] }: QueryBody["meta"]): void {
  for (const hint of hints) say(hint);
}

/** What a table or a chart cannot show. */
function sayNotes({ data, meta, errors = [] }: QueryBody): void {
  for (const { metric, detail } of errors) say(`${metric}: ${detail}`);
  if (data.length === 0 && errors.length === 0) say("no series has points in this time");
  sayHints(meta);
  const missing = meta.regions.filter(({ state }) => state !== "ok").map(({ region, state }) => `${region} (${state})`);
  if (meta.partial) say(`partial: ${missing.length === 0 ? "some data is missing" : missing.join(", ")}`);
  if (meta.infinite_points !== undefined) say(`${meta.infinite_points} infinite points are left out`);
  if (meta.has_more) say(`${data.length} of ${meta.total_series} series; narrow the query with --filter`);
}

const numbers = (series: Series): readonly number[] => series.points.map(([, value]) => value);
const columns: readonly Column<Series>[] = [
  { title: "METRIC", cell: ({ metric }) => metric },
  { title: "LABELS", cell: ({ labels }) => labelText(labels) },
  { title: "POINTS", cell: ({ points }) => points.length },
  { title: "MIN", cell: (series) => shortNumber(lowest(numbers(series))) },
  { title: "MAX", cell: (series) => shortNumber(highest(numbers(series))) },
  { title: "LAST", cell: ({ points }) => shortNumber(points.at(-1)?.[1]) },
  { title: "AT", cell: ({ points }) => points.at(-1)?.[0] },
];
