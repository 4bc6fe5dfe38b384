import { type UsageAnswer, usageGroups, type UsageItem } from "../../api/usage.ts";
import { type Connect, connectionFlags, connectionOf } from "../api/connection.ts";
import { type Column, createOutput } from "../api/output.ts";
import { send, sendForJson } from "../api/request.ts";
import { withApi } from "../api/with-api.ts";
import type { Command, ExitName } from "../command-line/command.ts";
import { type Environment, oneOf } from "../command-line/flags.ts";
import { plain, say } from "../command-line/terminal.ts";
import { type QueryParameters, tenantFlag, timesOf } from "./query-flags.ts";

const path = "/v1/metrics/usage";
const outputs = ["table", "csv", "json"] as const;

interface UsageArguments {
  readonly connect: Connect;
  readonly query: QueryParameters;
  readonly output: (typeof outputs)[number];
}

/** `heliograph usage` */
export const usageCommand: Command<UsageArguments> = {
  summary: "Prints requests, points, bytes and cost units of metric queries, by client, tenant, metric or class.",
  flags: [
    {
      name: "from",
      value: "TIME",
      help: "Start, such as 2026-01-31T08:00:00Z or now-7d; defaults to 24 hours before the end.",
    },
    { name: "to", value: "TIME", help: "End; defaults to now." },
    { name: "last", value: "DURATION", help: "Time range up to now, such as 24h or 30d, instead of --from and --to." },
    { name: "step", value: "DURATION", help: "Length of an interval, such as 1h or 1d; the whole range by default." },
    { name: "group-by", value: "NAME", help: "client, tenant, metric or class; defaults to client.", multiple: true },
    { name: "client", value: "CLIENT", help: "Only this client." },
    tenantFlag,
    { name: "metric", value: "METRIC", help: "Only this metric." },
    { name: "class", value: "CLASS", help: "Only this query class: A, B or C." },
    {
      name: "output",
      short: "o",
      value: "FORM",
      help: "Output format: table, csv or json (as the server sends it).",
      variable: "HELIOGRAPH_USAGE_OUTPUT",
      standard: "table",
    },
    ...connectionFlags,
  ],
  read: (given) => {
    const groupBy = given.list("group-by");
    const [step, client, tenant, metric, queryClass] = ["step", "client", "tenant", "metric", "class"].map((name) =>
      given.optional(name),
    );
    return {
      connect: connectionOf(given),
      query: {
        ...timesOf(given, Date.now()),
        group_by: groupBy.length === 0 ? "client" : groupBy.join(","),
        step,
        client,
        tenant,
        metric,
        class: queryClass,
      },
      output: oneOf(given, "output", outputs),
    };
  },
  run: async (args, { environment }) => printUsage(args, environment),
};

/** @throws CommandError */
async function printUsage({ connect, query, output }: UsageArguments, environment: Environment): Promise<ExitName> {
  return withApi(connect, async (connection): Promise<ExitName> => {
    if (output === "csv") {
      const { body } = await send(connection, { path, query, headers: { accept: "text/csv" } });
      process.stdout.write(process.stdout.isTTY ? body.toString().split(/\r?\n/u).map(plain).join("\n") : body);
    } else if (output === "json")
      process.stdout.write(`${(await send(connection, { path, query })).body.toString().trimEnd()}\n`);
    else printTable(await sendForJson<UsageAnswer>(connection, { path, query }), environment);
    return "done";
  });
}

type Row = Partial<UsageItem> & UsageAnswer["meta"]["total"];

function printTable({ data, meta }: UsageAnswer, environment: Environment): void {
  const groups = usageGroups.filter((group) => meta.group_by.includes(group));
  const columns: readonly Column<Row>[] = [
    ...(meta.step_seconds === null ? [] : [{ title: "FROM", cell: ({ from = "TOTAL" }: Row) => from }]),
    ...groups.map((group, index) => ({
      title: group.toUpperCase(),
      cell: (row: Row) => row[group] ?? (index === 0 && meta.step_seconds === null ? "TOTAL" : ""),
    })),
    ...sums,
  ];
  process.stdout.write(createOutput("table", environment).table<Row>(columns, [...data, meta.total]));
  if (meta.clients === "own") say("only your client: the token lacks the scope metrics:usage");
  if (!meta.complete) say(`usage may be missing: all pods count since ${meta.complete_since}${lostText(meta)}`);
}

function lostText({ lost_requests: lost }: UsageAnswer["meta"]): string {
  return lost === null || lost === 0 ? "" : `, and ${lost} requests were lost in an outage of NATS`;
}

const sums: readonly Column<Row>[] = [
  { title: "REQUESTS", cell: ({ requests }) => requests },
  { title: "POINTS", cell: ({ points }) => points },
  { title: "CACHED", cell: ({ cache_share: share }) => (share === null ? null : `${Math.round(share * 100)} %`) },
  { title: "BYTES", cell: ({ bytes }) => bytes },
  { title: "ESTIMATE", cell: ({ cost_estimate: estimate }) => estimate },
  { title: "COST", cell: ({ cost }) => cost },
];
