import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isRe2, unicodeNames } from "../../crds/re2.ts";

const folder = join(import.meta.dirname, "..", "tools", "regexp-syntax");
const buildMsMax = 180_000;
const expressionCount = 50_000;

/** What Go's own parser says of each expression. */
async function saidByGo(expressions: readonly string[]): Promise<readonly boolean[]> {
  const go = spawn("go", ["run", "."], {
    cwd: folder,
    env: { ...process.env, GOWORK: "off" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  go.stdin.end(expressions.map((expression) => `${JSON.stringify(expression)}\n`).join(""));
  const said = (await text(go.stdout)).trim().split("\n");
  if (said.length !== expressions.length) throw new Error(`Go answered ${said.length} of ${expressions.length} lines`);
  return said.map((line) => line === "true");
}

describe("an expression of a matcher", () => {
  test.each([
    "",
    "5..",
    "eu-.*|latam-(a|b)",
    "(?i:Prod)",
    "(?P<zone>[a-z]+)",
    "a{2,5}?",
    "{",
    "a{,3}",
    "[]a-]",
    "\\Qa.b\\E+",
    "\\pL\\p{^Greek}",
    "\\\\p{Klingon}",
    "\\Q\\p{Klingon}\\E",
    "(?:a{30}){33}",
    // Go allows two groups of one name, and `[:` at the end of a class. The package rejects both.
    "[^a[:]{2}",
    "[:a][x[:]",
    "[:[:]",
    "[[:]",
    "(?P<n>a)|(?<n>b)",
    "[(?<n>a](?<n>b)\\Q(?<n>\\E",
  ])("may be %j", (expression) => {
    expect(isRe2(expression)).toBe(true);
  });

  test.each([
    "(5",
    "5)",
    "(?!a)",
    "(?<=a)",
    "a**",
    "*",
    "(|*)",
    "a{1001}",
    "a{3,2}",
    "(?:a{30}){34}",
    "[b-a]",
    "[a",
    "\\1",
    "\\k",
    "\\",
    "\\p{Klingon}",
    "\\p{Old_Italic}",
    "\\p{greek}",
    "(?P<n>a)(?P<n>b",
    "(?P<>a)",
    "[[:]a:]",
    "[[:][\\[:]\\[:]",
    "[^(?<n>\\(?P<n>[:[:]|",
    "[[:][:]",
    "[[:](:])",
    "\\Qa",
    "a)(b",
  ])("is not %j", (expression) => {
    expect(isRe2(expression)).toBe(false);
  });
});

const pieces = [
  [
    "a",
    "b",
    "0",
    "é",
    "😀",
    ".",
    "^",
    "$",
    "|",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    "-",
    "*",
    "+",
    "?",
    "{",
    "}",
    ",",
    ":",
    "\\",
    "\n",
    " ",
  ],
  [
    "(?:",
    "(?i)",
    "(?i:",
    "(?s-m:",
    "(?-)",
    "(?i-)",
    "(?",
    "(?=",
    "(?!",
    "(?<=",
    "(?'n'",
    "(?P<n>",
    "(?<n>",
    "(?<n",
    "(?P<>",
    "(?P=n)",
  ],
  [
    "[^",
    "[]a]",
    "[a-z]",
    "[z-a]",
    "[a-\\d]",
    "[[:alpha:]]",
    "[[:^word:]]",
    "[[:foo:]]",
    "[:",
    ":]",
    "[\\b]",
    "[\\x41-\\101]",
  ],
  [
    "\\d",
    "\\W",
    "\\b",
    "\\B",
    "\\A",
    "\\z",
    "\\Z",
    "\\C",
    "\\Q",
    "\\E",
    "\\1",
    "\\12",
    "\\0",
    "\\08",
    "\\x",
    "\\x4",
    "\\x41",
    "\\x{1F600}",
    "\\x{110000}",
  ],
  [
    "\\x{}",
    "\\x{00000041}",
    "\\pL",
    "\\pX",
    "\\p{Greek}",
    "\\P{^Lu}",
    "\\p{Foo}",
    "\\p{",
    "\\p",
    "\\p{Any}",
    "\\a",
    "\\n",
    "\\e",
    "\\.",
    "\\_",
    "\\é",
  ],
  [
    "**",
    "*?",
    "??",
    "{2}",
    "{2,}",
    "{2,3}",
    "{3,2}",
    "{,3}",
    "{0}",
    "{0,}",
    "{01}",
    "{1000}",
    "{1001}",
    "{99999999999}",
    "{40}",
    "{25}",
    "{26}?",
  ],
].flat();

test(
  `agrees with Go about ${expressionCount} random expressions and every name of a class`,
  async () => {
    const random = fc
      .sample(fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 12 }), expressionCount)
      .map((parts) => parts.join(""));
    const expressions = [...random, ...[...unicodeNames].map((name) => `\\p{${name}}`)];
    const said = await saidByGo(expressions);
    expect(said.filter(Boolean).length).toBeGreaterThan(expressionCount / 20);
    expect(expressions.filter((expression, index) => isRe2(expression) !== said[index])).toEqual([]);
  },
  buildMsMax,
);
