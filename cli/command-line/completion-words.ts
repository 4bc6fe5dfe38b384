import type { CommandTable } from "./command.ts";
import { variableOf } from "./flags.ts";

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

const helpFlag: CompletedFlag = { name: "help", short: "h", help: "Prints this help." };
/** Placeholders of values and operands that name a file or a folder. */
const isFile = (placeholder: string): boolean => /^(?:FILE|DIR|PATH)$/u.test(placeholder);

/** A word with its meaning. */
type Candidate = readonly [word: string, meaning: string];

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
      return { name, summary, flags: [...own, helpFlag], takesFiles };
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

/**
 * The lines that kubectl expects of `kubectl_complete-heliograph`: candidates with their meaning, then a directive.
 *
 * @param words of the command line behind `kubectl heliograph`; the last one is not complete
 */
export function completions(commands: readonly CompletedCommand[], words: readonly string[]): readonly string[] {
  const last = words.at(-1) ?? "";
  const typed = words.slice(0, -1);
  const command = commandOf(commands, typed);
  const value = flagNamed(command?.flags ?? [], typed.at(-1) ?? "")?.value;
  if (value !== undefined) return [directiveOf(value === "files")];
  if (last.startsWith("-")) return [...matching(last, flagsOf(command)), directiveOf(false)];
  if (command !== undefined) return [directiveOf(command.takesFiles)];
  return [...matching(last, wordsOf(commands, typed)), directiveOf(false)];
}

/** Tells kubectl whether to complete names of files. Source: cobra, `ShellCompDirective`. */
function directiveOf(takesFiles: boolean): string {
  return takesFiles ? ":0" : ":4";
}

function flagsOf(command: CompletedCommand | undefined): readonly Candidate[] {
  return (command?.flags ?? []).map(({ name, help }) => [`--${name}`, help]);
}

/** First words, or the second words behind one. */
function wordsOf(commands: readonly CompletedCommand[], typed: readonly string[]): readonly Candidate[] {
  const names = typed.length === 0 ? firstWords(commands) : wordsBelow(commands, typed[0] ?? "");
  return names.map((name) => [name, meaningOf(commands, [...typed, name])]);
}

function commandOf(commands: readonly CompletedCommand[], typed: readonly string[]): CompletedCommand | undefined {
  const both = typed.slice(0, 2).join(" ");
  return commands.find(({ name }) => name === both) ?? commands.find(({ name }) => name === typed[0]);
}

function flagNamed(flags: readonly CompletedFlag[], word: string): CompletedFlag | undefined {
  return flags.find(({ name, short }) => word === `--${name}` || (short !== undefined && word === `-${short}`));
}

function meaningOf(commands: readonly CompletedCommand[], words: readonly string[]): string {
  return commands.find(({ name }) => name === words.join(" "))?.summary ?? "";
}

function matching(start: string, candidates: readonly Candidate[]): readonly string[] {
  const found = candidates.filter(([name]) => name.startsWith(start));
  return found.map(([name, about]) => (about === "" ? name : `${name}\t${about}`));
}
