import { UsageError, type Given } from "../command-line/given.ts";
import { connectionFlags, connectionOf } from "../api/connection.ts";
import { outputFlag, outputFormatOf, type OutputFormat } from "../api/output.ts";
import type { Command } from "../command-line/command.ts";
import type { SloArguments } from "./print-slos.ts";
import { sloFlags, sloParameters } from "./slo-flags.ts";

/** What to print: the list of objectives, or the history of one. */
type Asked =
  | (SloArguments & { readonly isHistory: true })
  | (SloArguments & { readonly isHistory: false; readonly output: OutputFormat });

/** `heliograph slo` */
export const sloCommand: Command<Asked> = {
  summary:
    "Lists objectives with their error budget and burn rates; with `--history` the budget of one over its window.",
  operands: [{ name: "NAME", isOptional: true }],
  flags: [
    ...sloFlags,
    { name: "history", help: "Prints what was left of the error budget of the named objective over its window." },
    { ...outputFlag, help: `${outputFlag.help.slice(0, -1)}; with --history also chart.` },
    ...connectionFlags,
  ],
  read: (given, [name]) => {
    const asked = { connect: connectionOf(given), query: sloParameters(given, name) };
    if (!given.isSet("history")) return { ...asked, isHistory: false, output: listFormatOf(given) };
    if (name === undefined) throw new UsageError("slo --history needs the NAME of an objective.");
    const isChart = given.text("output") === "chart";
    return { ...asked, isHistory: true, output: isChart ? "chart" : outputFormatOf(given) };
  },
  run: async (args, { environment }) => {
    if (!args.isHistory) return (await import("./print-slos.ts")).printSlos(args, environment);
    return (await import("./print-slo-history.ts")).printSloHistory(args, environment);
  },
};

/** @throws UsageError */
function listFormatOf(given: Given): OutputFormat {
  if (given.text("output") === "chart") throw new UsageError("slo draws a chart with --history only.");
  return outputFormatOf(given);
}
