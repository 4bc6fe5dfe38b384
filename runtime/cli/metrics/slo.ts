import { connectionFlags, connectionOf } from "../api/connection.ts";
import { outputFlag, outputFormatOf } from "../api/output.ts";
import type { Command } from "../command.ts";
import type { SloArguments } from "./print-slos.ts";
import { sloFlags, sloParameters } from "./slo-flags.ts";

/** `heliograph slo` */
export const sloCommand: Command<SloArguments> = {
  summary: "Lists objectives with their error budget and burn rates.",
  operands: [{ name: "NAME", isOptional: true }],
  flags: [...sloFlags, outputFlag, ...connectionFlags],
  read: (given, [name]) => ({
    connect: connectionOf(given),
    query: sloParameters(given, name),
    output: outputFormatOf(given),
  }),
  run: async (args, { environment }) => (await import("./print-slos.ts")).printSlos(args, environment),
};
