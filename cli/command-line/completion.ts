import type { Command, CommandTable } from "./command.ts";
import {
  type CompletedCommand,
  completedCommands,
  type CompletedFlag,
  firstWords,
  wordsBelow,
} from "./completion-words.ts";
import { print } from "./end-process.ts";
import { UsageError } from "./flags.ts";

const shells = ["bash", "zsh", "fish"] as const;

/** `heliograph completion` */
export const completionCommand: Command<Shell> = {
  summary: "Prints a script that completes commands, flags and files in bash, zsh or fish.",
  operands: [{ name: "SHELL" }],
  flags: [],
  read: (_given, [name]) => {
    const shell = shells.find((one) => one === name);
    if (shell === undefined) throw new UsageError(`completion supports ${shells.join(", ")}, not ${name}.`);
    return shell;
  },
  run: async (shell, { commands }) => printCompletion(shell, commands),
};

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
/** A shell whose command lines can be completed. */
type Shell = (typeof shells)[number];

/** Prints the script of one shell. */
async function printCompletion(shell: Shell, table: CommandTable): Promise<"done"> {
  return print(scripts[shell](await completedCommands(table)));
}

/** The script for bash from 3.2 on. It needs no package of completions. */
function bashScript(commands: readonly CompletedCommand[]): string {
  return `# Completion of heliograph for bash. Load it with: source <(heliograph completion bash)
_heliograph() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} words="" command="" index word
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    case "$command" in
    ${groupsPattern(commands)}) [[ $word == -* ]] || command="$command $word"; break ;;
    "") [[ $word == -* ]] || command=$word ;;
    *) break ;;
    esac
  done
  case "$command" in
${wordCases(commands).join("\n")}
${commands.map((command) => bashCase(command, wordsBelow(commands, command.name))).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}

_heliograph_files() {
  local IFS=$'\\n'
  compopt -o filenames 2> /dev/null
  COMPREPLY=($(compgen -f -- "$1"))
}

complete -F _heliograph heliograph
`;
}

/** zsh runs the script of bash. */
function zshScript(commands: readonly CompletedCommand[]): string {
  return `# Completion of heliograph for zsh. Load it with: source <(heliograph completion zsh)
autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
${bashScript(commands).split("\n").slice(1).join("\n")}`;
}

/** The words that follow nothing, or the first word of a group. */
function wordCases(commands: readonly CompletedCommand[]): readonly string[] {
  const cases: readonly Group[] = [["", firstWords(commands).join(" ")], ...groups(commands)];
  return cases.map(([first, words]) => `  ${doubleQuoted(first)}) words=${doubleQuoted(words)} ;;`);
}

type Group = readonly [first: string, words: string];

function groups(commands: readonly CompletedCommand[]): readonly Group[] {
  return firstWords(commands).flatMap((first) => {
    const below = wordsBelow(commands, first);
    const isCommand = commands.some(({ name }) => name === first);
    return below.length === 0 || isCommand ? [] : [[first, below.join(" ")] as const];
  });
}

/** Words that a second one follows; a pattern that matches nothing without any. */
function groupsPattern(commands: readonly CompletedCommand[]): string {
  const names = firstWords(commands).flatMap((first) =>
    wordsBelow(commands, first).length === 0 ? [] : [doubleQuoted(first)],
  );
  return names.length === 0 ? "' '" : names.join(" | ");
}

/** @param below second words of longer commands */
function bashCase({ name, flags, takesFiles }: CompletedCommand, below: readonly string[]): string {
  const files = namesOf(flags.filter(({ value }) => value === "files"));
  const texts = namesOf(flags.filter(({ value }) => value === "text"));
  const previous = [
    ...(files.length === 0 ? [] : [`    ${files.join(" | ")}) _heliograph_files "$current"; return ;;`]),
    ...(texts.length === 0 ? [] : [`    ${texts.join(" | ")}) return ;;`]),
  ];
  const operands = takesFiles ? ['    [[ $current == -* ]] || { _heliograph_files "$current"; return; }'] : [];
  const after = previous.length === 0 ? [] : ['    case "$previous" in', ...previous, "    esac"];
  const words = [...below, ...namesOf(flags)].join(" ");
  return [`  ${doubleQuoted(name)})`, ...after, ...operands, `    words=${doubleQuoted(words)} ;;`].join("\n");
}

function namesOf(flags: readonly CompletedFlag[]): readonly string[] {
  return flags.flatMap(({ name, short }) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]);
}

function doubleQuoted(text: string): string {
  return `"${text}"`;
}

/** The script for fish from 3.0 on. */
function fishScript(commands: readonly CompletedCommand[]): string {
  const first = firstWords(commands).map((word) => {
    const own = commands.find(({ name }) => name === word);
    const summary = own?.summary ?? wordsBelow(commands, word).join(", ");
    return `complete -c heliograph -n __fish_use_subcommand -f -a ${word} -d ${singleQuoted(summary)}`;
  });
  return [
    "# Completion of heliograph for fish. Load it with: heliograph completion fish | source",
    "complete -c heliograph -f",
    ...first,
    ...commands.flatMap(commandLines),
    "",
  ].join("\n");
}

function commandLines({ name, summary, flags, takesFiles }: CompletedCommand): readonly string[] {
  const [first = "", second] = name.split(" ");
  const below = `__fish_seen_subcommand_from ${first}`;
  const condition = second === undefined ? below : `${below}; and __fish_seen_subcommand_from ${second}`;
  const offer = `${below}; and not __fish_seen_subcommand_from ${second}`;
  return [
    ...(second === undefined
      ? []
      : [`complete -c heliograph -n ${singleQuoted(offer)} -f -a ${second} -d ${singleQuoted(summary)}`]),
    ...(takesFiles ? [`complete -c heliograph -n ${singleQuoted(condition)} -F`] : []),
    ...flags.map((flag) => `complete -c heliograph -n ${singleQuoted(condition)} ${flagWords(flag)}`),
  ];
}

function flagWords({ name, short, help, value }: CompletedFlag): string {
  const letter = short === undefined ? [] : ["-s", short];
  const taken = value === undefined ? [] : [value === "files" ? "-r -F" : "-x"];
  return [...letter, "-l", name, ...taken, "-d", singleQuoted(help)].join(" ");
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", String.raw`\'`)}'`;
}
