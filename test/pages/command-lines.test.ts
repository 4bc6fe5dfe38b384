import { describe, expect, test } from "vitest";
import { readArguments } from "../../cli/dispatch.ts";
import { commandBlocks } from "./command-blocks.ts";
import { heliographCalls } from "./command-lines.ts";

/** Words as a shell would hand them over, as far as the reader looks at their values. */
const given = (word: string): string => word.replaceAll(/\$\w*URL\b/gu, "http://127.0.0.1:8080");
const calls = commandBlocks().flatMap(({ page, text }) =>
  heliographCalls(text).map((words) => ({ page, words: words.map(given) })),
);

describe("the calls of heliograph in README.md and docs/", () => {
  test("are found in scripts, up to what ends a command", () => {
    const script = [
      "export T=$(npx heliograph dev-token --scope 'a b' \\",
      '  --tenant "x") # heliograph no',
      "heliograph validate - < f",
    ].join("\n");
    expect(heliographCalls(script)).toEqual([
      ["dev-token", "--scope", "a b", "--tenant", "x"],
      ["validate", "-"],
    ]);
  });

  test("are many", () => {
    expect(calls.length).toBeGreaterThan(8);
  });

  test.each(calls.map(({ page, words }) => [page, words.join(" "), words] as const))(
    "%s: heliograph %s is a command line that the program reads",
    async (_page, _line, words) => {
      await expect(readArguments(words, {})).resolves.toMatchObject({ run: expect.any(Function) });
    },
  );
});
