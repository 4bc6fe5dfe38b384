import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { commands } from "../../../cli/commands.ts";
import { readArguments } from "../../../cli/dispatch.ts";
import { runProgram } from "../../support/heliograph-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { run } from "../../tools/run.ts";

const shellMsMax = 20_000;
const firstWords = [...new Set(Object.keys(commands).map((name) => name.split(" ")[0] ?? ""))];

let folder: TemporaryFolder;

beforeAll(async () => {
  folder = await temporaryFolder("completion");
  for (const name of ["bash", "zsh", "fish"]) {
    const { stdout } = await runProgram(["completion", name]);
    await writeFile(join(folder.path, `completion.${name}`), stdout);
  }
  await writeFile(join(folder.path, "partner one.yaml"), "");
  await mkdir(join(folder.path, "config"));
});
afterAll(async () => folder.remove());

/** The words of the cases; the last one is completed. */
const cases = [
  ["a first word", ["na"], ["nats"]],
  ["a second word", ["nats", ""], ["migrate"]],
  ["the flags of a command", ["validate", "--o"], ["--output"]],
  ["the flags of a command of two words", ["nats", "migrate", "--re"], ["--release"]],
  ["a flag after an operand", ["run", "config", "--drain"], ["--drain-seconds"]],
  ["an operand that is a file", ["validate", "partner"], ["partner one.yaml"]],
  ["the value of a flag that is a file", ["run", "--settings", "partner"], ["partner one.yaml"]],
  ["no value of another flag", ["run", "--port", ""], []],
  ["nothing below a word that is no command", ["nothing", ""], []],
] as const;

async function shell(name: string, args: readonly string[]): Promise<readonly string[]> {
  const { code, stdout, stderr } = await run(name, args, { cwd: folder.path, timeoutMs: shellMsMax });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.split("\n").filter((line) => line !== "");
}

/** Skips a test, counted, where a shell is not installed. */
function requireShell(context: TestContext, name: string): void {
  const places = (process.env["PATH"] ?? "").split(delimiter).map((place) => join(place, name));
  const isThere = places.some((path) => {
    try {
      execFileSync(path, ["--version"], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  });
  if (!isThere) context.skip(`there is no ${name} on PATH`);
}

describe("bash completes", () => {
  const complete = (words: readonly string[]): Promise<readonly string[]> => {
    const script =
      'source completion.bash; COMP_WORDS=(heliograph "$@"); COMP_CWORD=$#; _heliograph; ' +
      "printf '%s\\n' \"${COMPREPLY[@]}\"";
    return shell("bash", ["--norc", "-c", script, "test", ...words]);
  };

  test.each(cases)("%s", async (_what, words, expected) => {
    expect(await complete(words)).toEqual(expected);
  });

  test("every first word", async () => {
    expect((await complete([""])).toSorted()).toEqual(firstWords.toSorted());
  });

  test("every flag of every command", async () => {
    for (const [name, load] of Object.entries(commands)) {
      const flags = (await load()).flags.filter(({ isSecret }) => isSecret !== true);
      const offered = await complete([...name.split(" "), "--"]);
      expect({ name, flags: offered.toSorted() }).toEqual({
        name,
        flags: [...flags.map((flag) => `--${flag.name}`), "--help"].toSorted(),
      });
    }
  });
});

test("zsh reads its script", async (context) => {
  requireShell(context, "zsh");
  expect(await shell("zsh", ["-f", "-n", "completion.zsh"])).toEqual([]);
});

test("fish completes the same", async (context) => {
  requireShell(context, "fish");
  for (const [what, words, expected] of cases) {
    if (what.startsWith("nothing")) continue;
    const line = ["heliograph", ...words].join(" ");
    const lines = await shell("fish", ["--no-config", "-c", `source completion.fish; complete -C '${line}'`]);
    expect(lines.map((text) => text.split("\t")[0]?.replaceAll("\\", ""))).toEqual(expected);
  }
});

test("an unknown shell is refused", async () => {
  await expect(readArguments(["completion", "tcsh"], {})).rejects.toThrow(
    "completion supports bash, zsh, fish, not tcsh.",
  );
});
