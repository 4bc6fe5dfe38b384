import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withLock } from "./lock.ts";
import { cacheRoot } from "./resolve.ts";
import { run } from "./run.ts";

const installMsMax = 300_000;
const lockWaitMs = 300_000;
const errorCharactersMax = 500;

/** The folder with the installed packages, or why there is none. */
type NpmFolder = { readonly folder: string } | { readonly missing: string };

/**
 * Packages of npm that are too many for every checkout. `test/tools/NAME/package-lock.json` pins them with all that
 * they need. They are installed once next to the other tools, without scripts; a machine without the registry has none.
 */
export async function findNpmFolder(name: "asyncapi"): Promise<NpmFolder> {
  const source = fileURLToPath(new URL(`${name}/`, import.meta.url));
  const digest = createHash("sha256")
    .update(readFileSync(join(source, "package-lock.json")))
    .digest("hex")
    .slice(0, 12);
  const folder = join(cacheRoot(), `${name}-${digest}`);
  const mark = join(folder, "installed");
  if (existsSync(mark)) return { folder };
  await mkdir(cacheRoot(), { recursive: true });
  return withLock(join(cacheRoot(), `${name}.lock`), { waitMs: lockWaitMs, onWait: () => undefined }, async () => {
    if (existsSync(mark)) return { folder };
    process.stderr.write(`heliograph tools: installing the packages of ${name} from npm\n`);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    for (const file of ["package.json", "package-lock.json"]) await copyFile(join(source, file), join(folder, file));
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund"];
    const { code, stderr } = await run("npm", ["ci", ...flags], { timeoutMs: installMsMax, cwd: folder });
    if (code !== 0) return { missing: `${name} cannot be installed: ${stderr.trim().slice(-errorCharactersMax)}` };
    await writeFile(mark, "");
    return { folder };
  });
}
