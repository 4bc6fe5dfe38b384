import { columns, exitCodeLines, flagLines } from "../../command-line/help-lines.ts";
import { commandRow, commands, type CommandName } from "./commands.ts";
import { exitCodes } from "./exit-codes.ts";

/** Help of the program as a whole. */
export function programHelp(): string {
  const names = Object.keys(commands) as CommandName[];
  return [
    "Usage: heliograph COMMAND [OPERAND] [FLAGS]",
    "",
    "Signed webhooks and one governed read API for metrics.",
    "",
    "Commands:",
    ...columns(names.map((name) => [usageOf(name), commandRow(name).summary])),
    "",
    "`heliograph COMMAND --help` lists the flags of a command; `heliograph --version` prints the version.",
    "",
    ...exitCodeLines(exitCodes),
    "",
  ].join("\n");
}

/** Help of one command. */
export function commandHelp(name: CommandName): string {
  const { summary, flags } = commandRow(name);
  return [
    `Usage: heliograph ${usageOf(name)} [FLAGS]`,
    "",
    summary,
    "",
    ...flagLines(flags, [["--help", "Prints this help."]]),
    "",
  ].join("\n");
}

function usageOf(name: CommandName): string {
  const { operand } = commandRow(name);
  return operand === undefined ? name : `${name} ${operand}`;
}
