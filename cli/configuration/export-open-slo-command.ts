import type { Command } from "../command-line/command.ts";

/** `heliograph import openslo` */
export const importOpenSloCommand: Command<string> = {
  summary: "Converts OpenSLO v1 to objectives of a MetricCatalog, and lists what they cannot express.",
  operands: [{ name: "FILE" }],
  flags: [],
  read: (_given, [file = ""]) => file,
  run: async (file) => (await import("./import-open-slo.ts")).importOpenSlo(file),
};

/** `heliograph export openslo` */
export const exportOpenSloCommand: Command<string> = {
  summary: "Prints the objectives in a folder, a file or standard input (`-`) as OpenSLO v1.",
  operands: [{ name: "PATH" }],
  flags: [],
  read: (_given, [path = ""]) => path,
  run: async (path) => (await import("./export-open-slo.ts")).exportOpenSlo(path),
};
