import { connectionFlags, connectionOf } from "../api/connection.ts";
import type { Command } from "../command.ts";
import { oneOf } from "../one-of.ts";
import type { QueryArguments } from "./print-query.ts";
import { queryFlags, queryParameters } from "./query-flags.ts";

/** `heliograph query` */
export const queryCommand: Command<QueryArguments> = {
  summary: "Reads metrics over a time, as a table, a chart, CSV, JSON, or a command for curl.",
  operands: [{ name: "METRIC", isRepeated: true }],
  flags: [
    ...queryFlags,
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
  read: (given, metrics) => ({
    connect: connectionOf(given),
    query: queryParameters(given, metrics, Date.now()),
    output: oneOf(given, "output", ["table", "chart", "csv", "json", "curl"]),
    tokenFile: given.optional("token-file"),
  }),
  run: async (args, { environment }) => (await import("./print-query.ts")).printQuery(args, environment),
};
