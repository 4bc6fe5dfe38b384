import { join } from "node:path";
import { expect, test } from "vitest";
import { commands } from "../../../cli/commands.ts";
import { completedCommands, completions } from "../../../cli/command-line/completion-words.ts";
import { run } from "../../tools/run.ts";

const table = await completedCommands(commands);
const names = (lines: readonly string[]): readonly string[] => lines.map((line) => line.split("\t")[0] ?? "");

test.each([
  { typed: ["eve"], is: ["events", ":4"] },
  { typed: ["events", "ta"], is: ["tail", ":4"] },
  { typed: ["events", "get", "--kubec"], is: ["--kubeconfig", ":4"] },
  { typed: ["events", "get", "--kubeconfig", ""], is: [":0"] },
  { typed: ["events", "get", "-n", ""], is: [":4"] },
  { typed: ["validate", ""], is: [":0"] },
  { typed: ["resources", ""], is: [":4"] },
  { typed: ["nothing", ""], is: [":4"] },
])("kubectl completes $typed", ({ typed, is }) => {
  expect(names(completions(table, typed))).toEqual(is);
});

test("kubectl gets all first words with the meaning of commands", () => {
  const lines = completions(table, [""]);
  expect(lines).toContain(`resources\t${table.find(({ name }) => name === "resources")?.summary}`);
  expect(names(lines)).toContain("dlq");
});

test("the program prints the lines", async () => {
  const program = join(import.meta.dirname, "..", "..", "..", "bin", "kubectl-complete.js");
  const { code, stdout } = await run(process.execPath, [program, "logo"], { timeoutMs: 60_000 });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "logout\tRemoves the saved login.\n:4\n" });
});
