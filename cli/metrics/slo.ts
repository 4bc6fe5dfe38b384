import type { SloHistoryAnswer, SloHistoryPoint } from "../../api/objectives.ts";
import { type Connect, connectionFlags, connectionOf } from "../api/connection.ts";
import { type Column, createOutput, outputFlag, type OutputFormat, outputFormatOf } from "../api/output.ts";
import { send } from "../api/request.ts";
import { withApi } from "../api/with-api.ts";
import type { Command, ExitName } from "../command-line/command.ts";
import { type Environment, type Given, UsageError } from "../command-line/flags.ts";
import { say } from "../command-line/terminal.ts";
import type { QueryParameters } from "./query-flags.ts";
import { chartOf, missingRegions } from "./series.ts";
import { percent, readSlos, sloColumns, sloFlags, sloParameters } from "./read-slos.ts";

/** What to print: the list of objectives, or the history of one. */
type SloRequest =
  | (SloArguments & { readonly isHistory: true })
  | (SloArguments & { readonly isHistory: false; readonly output: OutputFormat });

/** `heliograph slo` */
export const sloCommand: Command<SloRequest> = {
  summary:
    "Lists objectives with error budgets and burn rates; with `--history`, one objective's budget over its window.",
  operands: [{ name: "NAME", isOptional: true }],
  flags: [
    ...sloFlags,
    { name: "history", help: "Prints the remaining error budget of the objective over its window." },
    { ...outputFlag, help: `${outputFlag.help.slice(0, -1)}; with --history also chart.` },
    ...connectionFlags,
  ],
  read: (given, [name]) => {
    const request = { connect: connectionOf(given), query: sloParameters(given, name) };
    if (!given.isSet("history")) return { ...request, isHistory: false, output: listFormatOf(given) };
    if (name === undefined) throw new UsageError("slo --history needs the NAME of an objective.");
    const isChart = given.text("output") === "chart";
    return { ...request, isHistory: true, output: isChart ? "chart" : outputFormatOf(given) };
  },
  run: async (args, { environment }) => {
    if (!args.isHistory) return printSlos(args, environment);
    return printSloHistory(args, environment);
  },
};

interface SloArguments {
  readonly connect: Connect;
  readonly query: QueryParameters;
  /** `chart` needs a history. */
  readonly output: OutputFormat | "chart";
}

/** @throws UsageError */
function listFormatOf(given: Given): OutputFormat {
  if (given.text("output") === "chart") throw new UsageError("slo supports chart output only with --history.");
  return outputFormatOf(given);
}

/** Prints the objectives that the caller may see. @throws CommandError */
async function printSlos(
  { connect, query, output }: SloArguments & { readonly output: OutputFormat },
  environment: Environment,
): Promise<ExitName> {
  return withApi(connect, async (connection): Promise<ExitName> => {
    const slos = await readSlos(connection, query);
    await createOutput(output, environment).list(sloColumns, [slos]);
    const missing = slos.flatMap(({ name, regions }) =>
      missingRegions(regions).map((region) => `${name} in ${region}`),
    );
    if (missing.length > 0) say(`partial: ${missing.join(", ")}`);
    if (slos.length === 0) say("no objective is visible to this caller");
    return "done";
  });
}

/** Prints the error budget of one objective at instants over its window. @throws CommandError */
async function printSloHistory(args: SloArguments, environment: Environment): Promise<ExitName> {
  const { connect, query, output } = args;
  return withApi(connect, async (connection): Promise<ExitName> => {
    const { body } = await send(connection, { path: "/v1/metrics/slo/history", query });
    const history = JSON.parse(body.toString()) as SloHistoryAnswer;
    const { data, meta } = history;
    if (output === "chart") process.stdout.write(chartText(history));
    else {
      const printed = createOutput(output, environment);
      await printed.one(body, () => printed.table(columnsOf(history), data));
    }
    if (meta.partial) say(`partial: ${missingRegions(meta.regions).join(", ")}`);
    if (data.every(({ remaining }) => remaining === null)) say("the stores have no events in this window");
    return "done";
  });
}

function columnsOf(history: SloHistoryAnswer): readonly Column<SloHistoryPoint>[] {
  return [
    { title: "AT", cell: ({ at }) => at },
    { title: "ACTUAL", cell: ({ sli }) => percent(sli ?? undefined) },
    { title: "BUDGET LEFT", cell: (point) => percent(leftOf(point, history)) },
  ];
}

/** Share of the error budget that was left, negative when overspent. */
function leftOf({ remaining }: SloHistoryPoint, { meta: { objective } }: SloHistoryAnswer): number | undefined {
  return remaining === null || objective >= 1 ? undefined : remaining / (1 - objective);
}

function chartText(history: SloHistoryAnswer): string {
  const { data, meta } = history;
  const points = data.flatMap((point): readonly (readonly [string, number])[] => {
    const left = leftOf(point, history);
    return left === undefined ? [] : [[point.at, left * 100]];
  });
  const series = { metric: `${meta.name}: % of the error budget left`, labels: { tenant: meta.tenant }, points };
  const [fromMs = 0, toMs = 0] = [data[0], data.at(-1)].map((point) => Date.parse(point?.at ?? ""));
  return chartOf(series, { fromMs, toMs });
}
