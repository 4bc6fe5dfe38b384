// The command line of the runtime: commands, flags, help, exit codes. The parts of the process are in `program/`.
import type { Flag } from "../../command-line/flag.ts";
import { devTokenFlags, runFlags, runtimeFlags, validateFlags } from "./flags.ts";

interface CommandRow {
  readonly summary: string;
  /** Name of the one operand. */
  readonly operand?: string;
  readonly flags: readonly Flag[];
}

/** Every command. `docs/cli.md` holds the same; a test compares them. */
export const commands = {
  run: {
    summary: "Runs everything in one process, configured by the YAML files of a folder.",
    operand: "DIR",
    flags: runFlags,
  },
  runtime: {
    summary: "Runs one pod of several, on the configuration that the operator compiles.",
    flags: runtimeFlags,
  },
  validate: {
    summary: "Prints every problem of a folder, with file, line, field and reason.",
    operand: "DIR",
    flags: validateFlags,
  },
  "dev-token": {
    summary: "Prints a token of the local development issuer, which only `run` on the same data folder trusts.",
    flags: devTokenFlags,
  },
} as const satisfies Readonly<Record<string, CommandRow>>;

export type CommandName = keyof typeof commands;

/** The row of a command. */
export function commandRow(name: CommandName): CommandRow {
  return commands[name];
}

export function isCommandName(text: string): text is CommandName {
  return Object.hasOwn(commands, text);
}
