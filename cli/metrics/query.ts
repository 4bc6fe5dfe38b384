import { UsageError, type Given } from "../command-line/given.ts";
import { connectionFlags, connectionOf } from "../api/connection.ts";
import type { Command } from "../command-line/command.ts";
import { oneOf } from "../command-line/one-of.ts";
import type { QueryArguments } from "./print-query.ts";
import { queryFlags, queryParameters } from "./query-flags.ts";

/** `heliograph query` */
export const queryCommand: Command<QueryArguments & { readonly isPlan: boolean }> = {
  summary: "Reads metrics over a time, as a table, a chart, CSV, JSON, or a command for curl.",
  operands: [{ name: "METRIC", isRepeated: true }],
  flags: [
    ...queryFlags,
    { name: "plan", help: "Prints the plan and the price of the query, as lines or json, and reads no data." },
    {
      name: "output",
      short: "o",
      value: "FORM",
      help: "Form of the result: table, chart, csv, json (as the server sends it) or curl (the request, not sent).",
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
    if (!args.isPlan) return (await import("./print-query.ts")).printQuery(args, environment);
    return (await import("./print-plan.ts")).printPlan({ ...args, isJson: args.output === "json" });
  },
};

function outputOf(given: Given): QueryArguments["output"] {
  const output = oneOf(given, "output", ["table", "chart", "csv", "json", "curl"]);
  if (!given.isSet("plan") || output === "table" || output === "json") return output;
  throw new UsageError(`--plan prints table or json, not ${output}.`);
}
