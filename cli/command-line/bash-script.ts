import { firstWords, wordsBelow, type CompletedCommand, type CompletedFlag } from "./words.ts";

/** The script for bash from 3.2 on. It needs no package of completions. */
export function bashScript(commands: readonly CompletedCommand[]): string {
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
export function zshScript(commands: readonly CompletedCommand[]): string {
  return `# Completion of heliograph for zsh. Load it with: source <(heliograph completion zsh)
autoload -Uz compinit bashcompinit
(( $+functions[compdef] )) || compinit
bashcompinit
${bashScript(commands).split("\n").slice(1).join("\n")}`;
}

/** The words that follow nothing, or the first word of a group. */
function wordCases(commands: readonly CompletedCommand[]): readonly string[] {
  const cases: readonly Group[] = [["", firstWords(commands).join(" ")], ...groups(commands)];
  return cases.map(([first, words]) => `  ${quoted(first)}) words=${quoted(words)} ;;`);
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
    wordsBelow(commands, first).length === 0 ? [] : [quoted(first)],
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
  return [`  ${quoted(name)})`, ...after, ...operands, `    words=${quoted(words)} ;;`].join("\n");
}

function namesOf(flags: readonly CompletedFlag[]): readonly string[] {
  return flags.flatMap(({ name, short }) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]);
}

function quoted(text: string): string {
  return `"${text}"`;
}
