import { firstWords, wordsBelow, type CompletedCommand, type CompletedFlag } from "./words.ts";

/** The script for fish from 3.0 on. */
export function fishScript(commands: readonly CompletedCommand[]): string {
  const first = firstWords(commands).map((word) => {
    const own = commands.find(({ name }) => name === word);
    const summary = own?.summary ?? wordsBelow(commands, word).join(", ");
    return `complete -c heliograph -n __fish_use_subcommand -f -a ${word} -d ${quoted(summary)}`;
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
      : [`complete -c heliograph -n ${quoted(offer)} -f -a ${second} -d ${quoted(summary)}`]),
    ...(takesFiles ? [`complete -c heliograph -n ${quoted(condition)} -F`] : []),
    ...flags.map((flag) => `complete -c heliograph -n ${quoted(condition)} ${flagWords(flag)}`),
  ];
}

function flagWords({ name, short, help, value }: CompletedFlag): string {
  const letter = short === undefined ? [] : ["-s", short];
  const taken = value === undefined ? [] : [value === "files" ? "-r -F" : "-x"];
  return [...letter, "-l", name, ...taken, "-d", quoted(help)].join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", String.raw`\'`)}'`;
}
