import { columns, exitCodeLines, flagLines } from "./command-line/help-lines.ts";
import { usageOfCommand, type CommandTable } from "./command-line/command.ts";
import { exitCodes } from "./command-line/exit-codes.ts";
import { commandsBelow } from "./nearest-command.ts";

/** Help of the program as a whole. */
export async function programHelp(commands: CommandTable): Promise<string> {
  return [
    "Usage: heliograph COMMAND [OPERAND] [FLAGS]",
    "",
    "Signed webhooks and one governed read API for metrics.",
    "",
    "Commands:",
    ...(await summaryLines(commands, Object.keys(commands))),
    "",
    "`heliograph COMMAND --help` lists the flags of a command; `heliograph --version` prints the version.",
    "",
    ...exitCodeLines(exitCodes),
    "",
  ].join("\n");
}

/** Help of one command, or of those that begin with a word. */
export async function commandHelp(commands: CommandTable, name: string): Promise<string> {
  const command = await commands[name]?.();
  if (command === undefined) {
    const lines = await summaryLines(commands, commandsBelow(commands, name));
    return [`Usage: heliograph ${name} COMMAND [OPERAND] [FLAGS]`, "", "Commands:", ...lines, ""].join("\n");
  }
  return [
    `Usage: heliograph ${usageOfCommand(name, command)} [FLAGS]`,
    "",
    command.summary,
    "",
    ...flagLines(command.flags, [["--help", "Prints this help."]]),
    "",
  ].join("\n");
}

async function summaryLines(commands: CommandTable, names: readonly string[]): Promise<readonly string[]> {
  const rows = names.map(async (name) => {
    const command = await commands[name]?.();
    return command === undefined ? [] : [[usageOfCommand(name, command), command.summary] as const];
  });
  return columns((await Promise.all(rows)).flat());
}
