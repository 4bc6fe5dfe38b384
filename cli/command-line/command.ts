import type { Flag } from "./flag.ts";
import type { Environment, Given } from "./given.ts";
import type { ExitName } from "./exit-codes.ts";

/** A word of the command line that is no flag. */
export interface Operand {
  /** In capitals, as the help shows it. */
  readonly name: string;
  readonly isOptional?: boolean;
  /** True for the last operand when it may be given several times. */
  readonly isRepeated?: boolean;
}

/**
 * One command. Its module imports what is heavy inside of `run`, because the help loads the modules of all commands.
 * `Args` is what `read` makes of the command line.
 */
export interface Command<Args = unknown> {
  readonly summary: string;
  /** @default none */
  readonly operands?: readonly Operand[];
  readonly flags: readonly Flag[];
  /** @throws UsageError */
  read(given: Given, operands: readonly string[]): Args;
  /** @throws CommandError, StartError */
  run(args: Args, context: Context): Promise<ExitName>;
}

/** The table of commands: names of one or two words, each with the loader of its module. */
export type CommandTable = Readonly<Record<string, () => Promise<Command>>>;

/** Everything that a command gets besides its arguments. */
export interface Context {
  readonly environment: Environment;
  /** All commands, for those that describe others. */
  readonly commands: CommandTable;
}

/** `run DIR`, `events get EVENT...`, `validate [DIR]` */
export function usageOfCommand(name: string, { operands = [] }: Pick<Command, "operands">): string {
  return [name, ...operands.map(usageOfOperand)].join(" ");
}

export function usageOfOperand({ name, isOptional = false, isRepeated = false }: Operand): string {
  const text = isRepeated ? `${name}...` : name;
  return isOptional ? `[${text}]` : text;
}
