import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { exitCodes, usageOfCommand } from "../../cli/command-line/command.ts";
import { connectionFlags } from "../../cli/api/connection.ts";
import { commands } from "../../cli/commands.ts";
import { type Flag, usageOf, variableOf } from "../../cli/command-line/flags.ts";
import { commandHelp, programHelp } from "../../cli/help.ts";

const page = readFileSync(new URL("../../docs/reference/cli.md", import.meta.url), "utf8");
const described = await Promise.all(
  Object.entries(commands).map(async ([name, load]) => ({ name, command: await load() })),
);

/** Commands that ask a server have these, which the page shows once. */
const isOfConnection = (flag: Flag): boolean => connectionFlags.some((one) => one === flag);

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
  const usage = flag.isSecret === true ? "" : `\`${usageOf(flag)}\``;
  return [usage, `\`${variableOf(flag)}\``, standard, flag.help];
}

describe("the page of the commands", () => {
  test("holds every command and no other", () => {
    const headings = [...page.matchAll(/^## heliograph (?<name>[a-z-]+(?: [a-z-]+)?)/gmu)].map(
      ({ groups }) => groups?.["name"],
    );
    expect(headings).toEqual(described.map(({ name }) => name));
  });

  test.each(described)("holds the flags of $name", ({ name, command }) => {
    const own = command.flags.filter((flag) => !isOfConnection(flag)).map(documented);
    expect(rowsBelow(`heliograph ${usageOfCommand(name, command)}`)).toEqual(own);
  });

  test("holds the flags of the connection once", () => {
    expect(rowsBelow("The server of a command")).toEqual(connectionFlags.map(documented));
  });

  test("holds every exit code", () => {
    const codes = Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning]);
    expect(rowsBelow("Exit codes")).toEqual(codes);
  });
});

describe("exit codes", () => {
  test("are each used once", () => {
    const codes = Object.values(exitCodes).map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
  });
});

describe("the help", () => {
  test("of the program names every command and exit code", async () => {
    const text = await programHelp(commands);
    for (const { command } of described) expect(text).toContain(command.summary);
    for (const { meaning } of Object.values(exitCodes)) expect(text).toContain(meaning);
  });

  test.each(described)("of $name names every flag with its variable", async ({ name, command }) => {
    const text = await commandHelp(commands, name);
    for (const flag of command.flags) {
      expect(text).toContain(usageOf(flag));
      expect(text).toContain(variableOf(flag));
    }
  });

  test("of a first word names the commands that begin with it", async () => {
    const text = await commandHelp(commands, "debug");
    expect(text).toMatch(/^Usage: heliograph debug COMMAND/u);
    expect(text).toContain("debug bundle");
  });
});
