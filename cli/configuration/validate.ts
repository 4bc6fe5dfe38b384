import type { Command } from "../command-line/command.ts";
import { oneOf } from "../command-line/one-of.ts";
import type { ValidateArguments } from "./print-problems.ts";

/** `heliograph validate` */
export const validateCommand: Command<ValidateArguments> = {
  summary: "Prints every problem of a folder, a file or the standard input (`-`), with file, line, field and reason.",
  operands: [{ name: "PATH" }],
  flags: [
    {
      name: "output",
      short: "o",
      value: "FORM",
      help: "Form of the report: text, json or sarif (SARIF 2.1.0, which code hosts show beside the lines).",
      variable: "HELIOGRAPH_VALIDATE_OUTPUT",
      standard: "text",
    },
  ],
  read: (given, [place = ""]) => ({ place, output: oneOf(given, "output", ["text", "json", "sarif"]) }),
  run: async (args) => (await import("./print-problems.ts")).printProblems(args),
};
