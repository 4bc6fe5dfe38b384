import type { Command } from "../command-line/command.ts";
import { oneOf } from "../command-line/one-of.ts";

/** `heliograph version` */
export const versionCommand: Command<{ readonly output: "text" | "json" }> = {
  summary: "Prints the version of the program, of its Node, and the commit of a checkout.",
  flags: [
    {
      name: "output",
      short: "o",
      value: "FORM",
      help: "Form of the output: text or json.",
      variable: "HELIOGRAPH_VERSION_OUTPUT",
      standard: "text",
    },
  ],
  read: (given) => ({ output: oneOf(given, "output", ["text", "json"]) }),
  run: async ({ output }) => (await import("./print-version.ts")).printVersion(output),
};
