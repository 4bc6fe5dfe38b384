import { print } from "./end-process.ts";
import type { CommandTable } from "./command.ts";
import { bashScript, zshScript } from "./bash-script.ts";
import type { Shell } from "./shells.ts";
import { fishScript } from "./fish-script.ts";
import { completedCommands } from "./words.ts";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** Prints the script of one shell. */
export async function printCompletion(shell: Shell, table: CommandTable): Promise<"done"> {
  return print(scripts[shell](await completedCommands(table)));
}
