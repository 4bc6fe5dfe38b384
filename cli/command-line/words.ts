import { variableOf } from "./flag.ts";
import type { CommandTable } from "./command.ts";

/** One flag of a command, as a script completes it. */
export interface CompletedFlag {
  readonly name: string;
  readonly short?: string;
  readonly help: string;
  /** Absent for a switch. */
  readonly value?: "files" | "text";
}

/** One command, as a script completes it. */
export interface CompletedCommand {
  /** One or two words. */
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  readonly takesFiles: boolean;
}

const help: CompletedFlag = { name: "help", short: "h", help: "Prints the help." };
/** Placeholders of values and operands that name a file or a folder. */
const isFile = (placeholder: string): boolean => /^(?:FILE|DIR|PATH)$/u.test(placeholder);

/** What there is to complete, from the table of commands. */
export async function completedCommands(table: CommandTable): Promise<readonly CompletedCommand[]> {
  return Promise.all(
    Object.entries(table).map(async ([name, load]) => {
      const { summary, flags, operands = [] } = await load();
      const shown = flags.filter((flag) => flag.isSecret !== true);
      const own = shown.map(({ name: flag, short, value, help: text, ...rest }): CompletedFlag => ({
        name: flag,
        help: `${text} [${variableOf({ name: flag, help: text, ...rest })}]`,
        ...(short === undefined ? {} : { short }),
        ...(value === undefined ? {} : { value: isFile(value) ? "files" : "text" }),
      }));
      const takesFiles = operands.some((operand) => isFile(operand.name));
      return { name, summary, flags: [...own, help], takesFiles };
    }),
  );
}

/** The second words of commands that begin with one word. */
export function wordsBelow(commands: readonly CompletedCommand[], first: string): readonly string[] {
  const prefix = `${first} `;
  return commands.filter(({ name }) => name.startsWith(prefix)).map(({ name }) => name.slice(prefix.length));
}

/** The first words of all commands, each once. */
export function firstWords(commands: readonly CompletedCommand[]): readonly string[] {
  return [...new Set(commands.map(({ name }) => name.split(" ")[0] ?? ""))];
}
