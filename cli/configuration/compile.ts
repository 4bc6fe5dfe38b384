import type { Command } from "../command-line/command.ts";
import { oneOf } from "../command-line/one-of.ts";
import type { CompileArguments } from "./print-compiled.ts";

/** `heliograph compile` */
export const compileCommand: Command<CompileArguments> = {
  summary: "Prints the configuration that the operator makes of a folder, a file or the standard input (`-`).",
  operands: [{ name: "PATH" }],
  flags: [
    {
      name: "output",
      short: "o",
      value: "FORM",
      help: "Form of the output: yaml or json.",
      variable: "HELIOGRAPH_COMPILE_OUTPUT",
      standard: "yaml",
    },
  ],
  read: (given, [place = ""]) => ({ place, output: oneOf(given, "output", ["yaml", "json"]) }),
  run: async (args) => (await import("./print-compiled.ts")).printCompiled(args),
};
