import { existsSync, readFileSync } from "node:fs";
import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createHash } from "node:crypto";
import { withLock } from "../tools/lock.ts";
import { cacheRoot } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";

const installMsMax = 300_000;
const lockWaitMs = 300_000;

/** The command, or why there is none. */
type PythonProgram = { readonly command: string } | { readonly missing: string };

/**
 * A program of the Python package index. `test/tools/NAME/requirements.txt` pins it with all that it needs. It is
 * installed once into a folder of its own beside the other tools; a machine without Python 3 or the index has none. The
 * command of a package without a program is the interpreter that has it.
 */
export async function findPythonProgram(
  name: "checkov" | "cryptography" | "prometheus-api-client" | "schemathesis" | "zizmor",
): Promise<PythonProgram> {
  const requirements = fileURLToPath(new URL(`../tools/${name}/requirements.txt`, import.meta.url));
  const digest = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 12);
  const folder = join(cacheRoot(), `${name}-${digest}`);
  const command = join(folder, "bin", name);
  if (existsSync(command)) return { command };
  await mkdir(cacheRoot(), { recursive: true });
  return withLock(join(cacheRoot(), `${name}.lock`), { waitMs: lockWaitMs, onWait: () => undefined }, async () => {
    return existsSync(command) ? { command } : install(name, folder, requirements);
  });
}

/** A virtual environment knows its own path, so that it is made in place and removed when it is not whole. */
async function install(name: string, folder: string, requirements: string): Promise<PythonProgram> {
  const steps = [
    ["python3", ["-m", "venv", folder]],
    [join(folder, "bin", "pip"), ["install", "--quiet", "--disable-pip-version-check", "--requirement", requirements]],
  ] as const;
  for (const [program, args] of steps) {
    const { code, stderr } = await run(program, args, { timeoutMs: installMsMax });
    if (code === 0) continue;
    await rm(folder, { recursive: true, force: true });
    return { missing: `${name} cannot be installed: ${program} ended with ${code}: ${stderr.trim().slice(-500)}` };
  }
  const command = join(folder, "bin", name);
  if (!existsSync(command)) await symlink("python", command);
  return { command };
}
