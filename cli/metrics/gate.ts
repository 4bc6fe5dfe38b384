import { connectionFlags, connectionOf } from "../api/connection.ts";
import { outputFlag, outputFormatOf } from "../api/output.ts";
import type { Command } from "../command-line/command.ts";
import type { GateArguments } from "./judge-gate.ts";
import { sloFlags, sloParameters } from "./slo-flags.ts";

/** `heliograph gate` */
export const gateCommand: Command<GateArguments> = {
  summary: "Ends with 0 when objectives allow a release, with 1 when they do not, with 13 when that is not known.",
  operands: [{ name: "NAME", isOptional: true }],
  flags: [
    ...sloFlags,
    { ...outputFlag, help: "Form of the result: table (a line for each objective), wide, json (one object) or yaml." },
    ...connectionFlags,
  ],
  read: (given, [name]) => ({
    connect: connectionOf(given),
    query: sloParameters(given, name),
    output: outputFormatOf(given),
  }),
  run: async (args, { environment }) => (await import("./judge-gate.ts")).judgeGate(args, environment),
};
