import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { version } from "../../runtime/version.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { run, succeed } from "../tools/run.ts";
import { npmScope } from "./names.ts";
import { packKit } from "./npm-packages.ts";

const root = dirname(dirname(import.meta.dirname));
const commandMsMax = 60_000;
const pages = join(root, "docs", "recipients");

/** An empty project of a partner with the kit from its archive. */
export interface InstalledKit {
  /** The project's folder. */
  readonly path: string;
  /** Bytes of the archive. */
  readonly archive: Buffer;
  /** Folder of the installed package. */
  readonly unpacked: string;
  /** Makes a package of this checkout resolvable in the project, which has no network. */
  link(name: string): Promise<void>;
  remove(): Promise<void>;
}

/** Packs the kit and installs it from its archive, without a network. */
export async function installKit(): Promise<InstalledKit> {
  const folder = await temporaryFolder("kit");
  const path = join(folder.path, "project");
  await mkdir(path);
  await packKit({ root, work: join(folder.path, "work"), target: folder.path });
  const archive = join(folder.path, `heliograph-dev-recipient-${version}.tgz`);
  await writeFile(join(path, "package.json"), JSON.stringify({ type: "module" }));
  const args = ["install", archive, "--offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  await succeed("npm", args, { cwd: path, timeoutMs: commandMsMax });
  return {
    path,
    archive: await readFile(archive),
    unpacked: join(path, "node_modules", npmScope, "recipient"),
    link: async (name) => {
      const target = join(path, "node_modules", name);
      await mkdir(dirname(target), { recursive: true });
      await symlink(join(root, "node_modules", name), target);
    },
    remove: () => folder.remove(),
  };
}

/** Writes the examples of a page into a project, each to the file that its first line names. */
export async function writeExamples(path: string, page = "README.md"): Promise<readonly string[]> {
  const text = await readFile(join(pages, page), "utf8");
  const blocks = [...text.matchAll(/^```js\n\/\/ (?<name>[\w.-]+)\n(?<code>[^]*?)^```$/gmu)];
  for (const { groups } of blocks) await writeFile(join(path, groups?.["name"] ?? ""), groups?.["code"] ?? "");
  return blocks.map(({ groups }) => groups?.["name"] ?? "");
}

/** A program that runs JavaScript. */
interface NodeProgram {
  readonly version: string;
  readonly path: string;
}

/** The Node of the tests, and the one that a user of this machine has when it is another major version from 20 on. */
export async function nodePrograms(): Promise<readonly NodeProgram[]> {
  const own = { version: process.version, path: process.execPath };
  const folders = (process.env["PATH"] ?? "").split(":").filter((folder) => !folder.includes("node_modules"));
  for (const folder of folders) {
    const names = await readdir(folder).catch((): string[] => []);
    if (!names.includes("node")) continue;
    const path = join(folder, "node");
    const { code, stdout } = await run(path, ["--version"], { timeoutMs: commandMsMax });
    const major = Number.parseInt(stdout.slice(1), 10);
    if (code === 0 && major >= 20 && major !== Number.parseInt(process.versions.node, 10))
      return [own, { version: stdout.trim(), path }];
  }
  return [own];
}
