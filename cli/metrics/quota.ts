import { connectionFlags, connectionOf } from "../api/connection.ts";
import { outputFlag, outputFormatOf } from "../api/output.ts";
import type { Command } from "../command-line/command.ts";
import type { QuotaArguments } from "./print-quotas.ts";

/** `heliograph quota` */
export const quotaCommand: Command<QuotaArguments> = {
  summary: "Lists the quotas of the caller for metrics and what is left of them.",
  operands: [],
  flags: [outputFlag, ...connectionFlags],
  read: (given) => ({ connect: connectionOf(given), output: outputFormatOf(given) }),
  run: async (args, { environment }) => (await import("./print-quotas.ts")).printQuotas(args, environment),
};
