import { editDistance } from "../runtime/errors/near-names.ts";
import { exitCodeLines } from "./command-line/end-process.ts";
import { type CommandTable, exitCodes, usageOfCommand } from "./command-line/command.ts";
import { columns, flagLines } from "./command-line/flags.ts";

/** Most edits between a word and the command that it is taken for. */
const editsMax = 2;

/** Help of the program as a whole. */
export async function programHelp(commands: CommandTable): Promise<string> {
  return [
    "Usage: heliograph COMMAND [OPERAND] [FLAGS]",
    "",
    "Signed webhooks and a governed read API for metrics.",
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

/** The commands of two words that begin with a word. */
export function commandsBelow(commands: CommandTable, first: string): readonly string[] {
  return Object.keys(commands).filter((name) => name.startsWith(`${first} `));
}

/** The command that the words of a command line probably mean; undefined when none is near. */
export function nearestCommand(commands: CommandTable, words: readonly string[]): string | undefined {
  const [first = ""] = words;
  const found = Object.keys(commands).map((name) => {
    const typed = name.includes(" ") ? words.slice(0, 2).join(" ") : first;
    return { name, edits: editDistance(typed, name), most: Math.min(editsMax, Math.floor(name.length / 2)) };
  });
  return found.filter(({ edits, most }) => edits <= most).sort((a, b) => a.edits - b.edits)[0]?.name;
}
