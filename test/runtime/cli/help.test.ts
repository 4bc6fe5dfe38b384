import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { commandRow, commands, type CommandName } from "../../../runtime/cli/commands.ts";
import { exitCodes } from "../../../runtime/cli/exit-codes.ts";
import { variableOf, type Flag } from "../../../command-line/flag.ts";
import { commandHelp, programHelp } from "../../../runtime/cli/help.ts";

const page = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8");
const names = Object.keys(commands) as CommandName[];

/** Cells of the table rows below a heading, without the head of the table. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const [own = ""] = section.split("\n## ");
  const rows = own.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function documented(flag: Flag): readonly string[] {
  const notes = [
    ...(flag.required === true ? ["required"] : []),
    ...(flag.multiple === true ? ["may be repeated"] : []),
  ];
  const standard = [...(flag.standard === undefined ? [] : [`\`${flag.standard}\``]), ...notes].join(", ");
  return [`\`--${flag.name} ${flag.value}\``, `\`${variableOf(flag)}\``, standard, flag.help];
}

describe("the page of the commands", () => {
  test("holds every command and no other", () => {
    const headings = [...page.matchAll(/^## heliograph (?<name>[a-z-]+)/gmu)].map(({ groups }) => groups?.["name"]);
    expect(headings).toEqual(names);
  });

  test.each(names)("holds the flags of %s", (name) => {
    const { operand, flags } = commandRow(name);
    const heading = operand === undefined ? `heliograph ${name}` : `heliograph ${name} ${operand}`;
    expect(rowsBelow(heading)).toEqual(flags.map(documented));
  });

  test("holds every exit code", () => {
    const rows = Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning]);
    expect(rowsBelow("Exit codes")).toEqual(rows);
  });
});

describe("exit codes", () => {
  test("are each used once", () => {
    const codes = Object.values(exitCodes).map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
  });
});

describe("the help", () => {
  test("of the program names every command and exit code", () => {
    const text = programHelp();
    for (const name of names) expect(text).toContain(commandRow(name).summary);
    for (const { meaning } of Object.values(exitCodes)) expect(text).toContain(meaning);
  });

  test.each(names)("of %s names every flag with its variable", (name) => {
    const text = commandHelp(name);
    for (const flag of commandRow(name).flags) {
      expect(text).toContain(`--${flag.name} ${flag.value}`);
      expect(text).toContain(variableOf(flag));
    }
  });
});
