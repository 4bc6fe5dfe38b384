import { firstWords, wordsBelow, type CompletedCommand, type CompletedFlag } from "./words.ts";

/** A word with its meaning. */
type Candidate = readonly [word: string, meaning: string];

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
  return found.map(([name, help]) => (help === "" ? name : `${name}\t${help}`));
}
