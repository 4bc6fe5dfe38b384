import type { Command } from "../command-line/command.ts";
import { oneOf, UsageError } from "../command-line/flags.ts";
import type { CompileArguments, ValidateArguments } from "./print-compiled.ts";

/** `heliograph validate` */
export const validateCommand: Command<ValidateArguments> = {
  summary: "Reports all problems in a folder, a file or standard input (`-`), with file, line, field and reason.",
  operands: [{ name: "PATH" }],
  flags: [
    {
      name: "output",
      short: "o",
      value: "FORM",
      help: "Output format: text, json or sarif (SARIF 2.1.0, which code hosts show next to the affected lines).",
      variable: "HELIOGRAPH_VALIDATE_OUTPUT",
      standard: "text",
    },
    {
      name: "admin",
      value: "URL",
      help: "Also list what the program with this admin URL does not apply as written, such as http://127.0.0.1:9090.",
      variable: "HELIOGRAPH_VALIDATE_ADMIN",
    },
  ],
  read: (given, [place = ""]) => {
    const [output, admin] = [oneOf(given, "output", ["text", "json", "sarif"]), given.optional("admin")];
    if (admin === undefined) return { place, output };
    if (output === "sarif") throw new UsageError("--admin lists objects without a file and line; use text or json.");
    if (!["http:", "https:"].includes(URL.parse(admin)?.protocol ?? ""))
      throw new UsageError("--admin must be a URL such as http://127.0.0.1:9090.");
    return { place, output, admin: admin.replace(/\/+$/u, "") };
  },
  run: async (args) => (await import("./print-compiled.ts")).printProblems(args),
};

/** `heliograph compile` */
export const compileCommand: Command<CompileArguments> = {
  summary: "Prints the compiled configuration of a folder, a file or standard input (`-`).",
  operands: [{ name: "PATH" }],
  flags: [
    {
      name: "output",
      short: "o",
      value: "FORM",
      help: "Output format: yaml or json.",
      variable: "HELIOGRAPH_COMPILE_OUTPUT",
      standard: "yaml",
    },
  ],
  read: (given, [place = ""]) => ({ place, output: oneOf(given, "output", ["yaml", "json"]) }),
  run: async (args) => (await import("./print-compiled.ts")).printCompiled(args),
};
