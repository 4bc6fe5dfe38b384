import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { version } from "../../runtime/version.ts";
import type { Command } from "../command-line/command.ts";
import { print } from "../command-line/end-process.ts";
import { oneOf } from "../command-line/flags.ts";

/** `heliograph version` */
export const versionCommand: Command<{ readonly output: "text" | "json" }> = {
  summary: "Prints the versions of Heliograph and Node, and the commit of a checkout.",
  flags: [
    {
      name: "output",
      short: "o",
      value: "FORM",
      help: "Output format: text or json.",
      variable: "HELIOGRAPH_VERSION_OUTPUT",
      standard: "text",
    },
  ],
  read: (given) => ({ output: oneOf(given, "output", ["text", "json"]) }),
  run: async ({ output }) => printVersion(output),
};

const gitMsMax = 2_000;
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Prints what a report of a problem needs to name. */
async function printVersion(form: "text" | "json"): Promise<"done"> {
  const commit = await commitOf(root);
  const { node, v8 } = process.versions;
  const platform = `${process.platform}-${process.arch}`;
  if (form === "json") return print(JSON.stringify({ version, node, v8, platform, ...(commit && { commit }) }));
  const lines = [
    ["heliograph", version],
    ["commit", commit ?? "unknown"],
    ["node", node],
    ["platform", platform],
  ];
  return print(lines.map((line) => line.join(" ")).join("\n"));
}

/** The commit of a checkout. Packages and images have no repository. */
async function commitOf(folder: string): Promise<string | undefined> {
  if (!existsSync(`${folder}/.git`)) return undefined;
  const head = promisify(execFile)("git", ["-C", folder, "rev-parse", "HEAD"], { timeout: gitMsMax });
  const { stdout } = await head.catch(() => ({ stdout: "" }));
  return /^[0-9a-f]{40,64}$/u.test(stdout.trim()) ? stdout.trim() : undefined;
}
