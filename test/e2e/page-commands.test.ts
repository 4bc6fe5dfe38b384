import { expect, test } from "vitest";
import { pageSteps, typeStep } from "./page-commands.ts";

const page = [
  "# Page",
  "",
  "## First",
  "",
  "```sh",
  "echo one",
  "echo two",
  "```",
  "",
  "```text",
  "one",
  "```",
  "",
  "## Second",
  "",
  "```yaml",
  "a: b",
  "```",
  "",
  "```sh",
  "true",
  "```",
  "",
  "1. In a list:",
  "",
  "   ```sh",
  "   echo two \\",
  "     three",
  "   ```",
  "",
  "   ```text",
  "   two three",
  "   ```",
].join("\n");

test("the steps of a page are its commands with what they print, by section", () => {
  expect(pageSteps(page)).toEqual([
    { section: "First", commands: "echo one\necho two\n", prints: ["one"] },
    { section: "Second", commands: "true\n", prints: [] },
    { section: "Second", commands: "echo two \\\n  three\n", prints: ["   two three"] },
  ]);
});

const shell = { cwd: import.meta.dirname, env: {} };
const step = (commands: string, ...prints: readonly string[]) => ({ section: "", commands, prints });

test("a step that prints its line with other spaces, and any text for an ellipsis, passes", async () => {
  await expect(
    typeStep(step("echo 'NAME   READY  AGE'; echo 'a  True  17s'", "NAME READY AGE", "a True …s"), shell),
  ).resolves.toBeUndefined();
});

test("a step whose first command fails is refused, although a later one succeeds", async () => {
  await expect(typeStep(step("false\ntrue\n"), shell)).rejects.toThrow("ended with 1");
});
