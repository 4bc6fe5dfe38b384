/** Words of each call of `heliograph` in a script, without the program's own name. */
export function heliographCalls(script: string): readonly (readonly string[])[] {
  const lines = script.replaceAll(/\\\n\s*/gu, " ").split("\n");
  return lines.flatMap((line) =>
    [...line.matchAll(/(?:^|\$\(|<\(|[|;&] ?|\$ |npx )heliograph (?=[\w-])/gu)].map(({ index, 0: found }) =>
      wordsOf(line.slice(index + found.length)),
    ),
  );
}

/** The words of one simple command, up to what ends it in a shell. */
function wordsOf(text: string): readonly string[] {
  const [command = ""] = /^(?:"[^"]*"|'[^']*'|[^"'|<>);&#])*/u.exec(text) ?? [];
  const words = command.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/gu) ?? [];
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/gu, "$1$2"));
}
