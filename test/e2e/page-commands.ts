import { mkdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { waitFor } from "../support/wait.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";

/** A block of commands of a page, and what the page says that they print. */
export interface PageStep {
  /** Heading of its section. */
  readonly section: string;
  readonly commands: string;
  /** Lines that follow as ```text; empty when the page shows none. */
  readonly prints: readonly string[];
}

/** Where a page's commands run. */
export interface Shell {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

const root = dirname(dirname(import.meta.dirname));
const stepMsMax = 4 * 60_000;
const printMsMax = 60_000;
const [commandBlock, textBlock] = ["sh", "text"].map((kind) => `^ *\`\`\`${kind}\\n([\\s\\S]*?)^ *\`\`\`$`);
const blocks = new RegExp(`^## (.+)$|${commandBlock}(?:\\n+${textBlock})?`, "gmu");

/** A shell in the checkout, with kubectl and helm on its path. @param folder is its home */
export async function shellIn(folder: string, kubeconfig: string): Promise<Shell> {
  const bin = join(folder, "bin");
  await mkdir(bin);
  for (const tool of ["kubectl", "helm"] as const) await symlink(await resolveTool(tool), join(bin, tool));
  const path = `${bin}:${process.env["PATH"]}`;
  return { cwd: root, env: { KUBECONFIG: kubeconfig, HOME: folder, PATH: path } };
}

/** Reads the command blocks of a section of docs/how-to/install.md, for another namespace than the documented one. */
export async function installSteps(title: string, namespace: string): Promise<readonly PageStep[]> {
  const page = await readFile(join(root, "docs", "how-to", "install.md"), "utf8");
  const here = page.replaceAll(/--namespace heliograph(?=\s)/gu, `--namespace ${namespace}`);
  return pageSteps(here).filter(({ section }) => section === title);
}

/** Reads the blocks of commands of a page in their order, also of those in lists. */
export function pageSteps(page: string): readonly PageStep[] {
  let section = "";
  return [...page.matchAll(blocks)].flatMap(([, heading, commands, prints = ""]) => {
    section = heading ?? section;
    if (commands === undefined) return [];
    const indent = /^ */u.exec(commands)?.[0] ?? "";
    const lines = prints.split("\n").filter((line) => line.trim() !== "");
    return [{ section, commands: commands.replaceAll(new RegExp(`^${indent}`, "gmu"), ""), prints: lines }];
  });
}

/**
 * Types a block into a shell that ends with the first failure. A block that prints something is typed again until it
 * prints it, for a minute at most.
 *
 * @throws Error with the commands and what they said
 */
export async function typeStep({ commands, prints }: PageStep, { cwd, env }: Shell): Promise<void> {
  const type = async (): Promise<boolean> => {
    const stdout = await outputOf(commands, { cwd, env });
    const missing = prints.filter((line) => !isPrinted(line, stdout));
    if (missing.length > 0) throw new Error(`${commands}printed no line "${missing[0]}" but: ${stdout}`);
    return true;
  };
  if (prints.length === 0) await type();
  else await waitFor(type, { timeoutMs: printMsMax, pollMs: 500, what: "the text of the page" });
}

/** Types commands into a shell that ends with the first failure. @throws Error with the commands and what they said */
export async function outputOf(commands: string, { cwd, env }: Shell): Promise<string> {
  const args = ["-euo", "pipefail", "-c", commands];
  const { code, stdout, stderr } = await run("bash", args, { cwd, env, timeoutMs: stepMsMax });
  if (code !== 0) throw new Error(`${commands}ended with ${code}: ${stdout}${stderr}`);
  return stdout;
}

/** Words of a line in their order, within one line. `…` stands for any text. */
function isPrinted(line: string, output: string): boolean {
  const words = line.split("…").map((part) =>
    part
      .trim()
      .split(/\s+/u)
      .map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`))
      .join(String.raw`\s+`),
  );
  return new RegExp(words.join(".*"), "u").test(output);
}
