import type { Quota } from "../../api/quotas.ts";
import { type Connect, connectionFlags, connectionOf } from "../api/connection.ts";
import { type Column, createOutput, outputFlag, type OutputFormat, outputFormatOf } from "../api/output.ts";
import { sendForJson } from "../api/request.ts";
import { withApi } from "../api/with-api.ts";
import type { Command, ExitName } from "../command-line/command.ts";
import type { Environment } from "../command-line/flags.ts";
import { shortNumber } from "./series.ts";

/** `heliograph quota` */
export const quotaCommand: Command<QuotaArguments> = {
  summary: "Lists the quotas of the caller for metrics and what is left of them.",
  operands: [],
  flags: [outputFlag, ...connectionFlags],
  read: (given) => ({ connect: connectionOf(given), output: outputFormatOf(given) }),
  run: async (args, { environment }) => printQuotas(args, environment),
};

interface QuotaArguments {
  readonly connect: Connect;
  readonly output: OutputFormat;
}

/** Prints the quotas. It charges nothing. @throws CommandError */
async function printQuotas({ connect, output }: QuotaArguments, environment: Environment): Promise<ExitName> {
  return withApi(connect, async (connection): Promise<ExitName> => {
    const pages = async function* () {
      const request = { path: "/v1/metrics/quota" };
      yield (await sendForJson<{ readonly data: readonly Quota[] }>(connection, request)).data;
    };
    await createOutput(output, environment).list(columns, pages());
    return "done";
  });
}

const columns: readonly Column<Quota>[] = [
  { title: "CLASS", cell: (quota) => quota.class },
  { title: "CLIENT", cell: ({ client }) => client },
  { title: "REQUESTS LEFT", cell: ({ requests }) => `${requests.remaining} of ${requests.burst}` },
  { title: "PER SECOND", cell: ({ requests }) => requests.limit_per_second },
  { title: "COST LEFT", cell: ({ cost }) => `${shortNumber(cost.remaining)} of ${shortNumber(cost.burst)}` },
  { title: "PER MINUTE", cell: ({ cost }) => shortNumber(cost.limit_per_minute) },
  { title: "RUNNING", cell: ({ concurrent: { used, limit } }) => `${used} of ${limit}` },
  { title: "KNOWN BY", cell: ({ known_by: source }) => source, isWide: true },
];
