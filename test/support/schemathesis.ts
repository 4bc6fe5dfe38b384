import { existsSync, readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createHash } from "node:crypto";
import { withLock } from "../tools/lock.ts";
import { cacheRoot } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";

/** Exact versions of schemathesis and of all that it needs. */
const requirements = fileURLToPath(new URL("../tools/schemathesis/requirements.txt", import.meta.url));
const installMsMax = 180_000;
const lockWaitMs = 300_000;

/** The command, or why there is none. */
type Schemathesis = { readonly command: string } | { readonly missing: string };

/**
 * Schemathesis (https://schemathesis.io, MIT), which makes requests of an OpenAPI document. It is installed once from
 * the Python package index into a folder of its own beside the other tools; a machine without Python 3 or the index has
 * none.
 */
export async function findSchemathesis(): Promise<Schemathesis> {
  const digest = createHash("sha256").update(readFileSync(requirements)).digest("hex").slice(0, 12);
  const folder = join(cacheRoot(), `schemathesis-${digest}`);
  const command = join(folder, "bin", "schemathesis");
  if (existsSync(command)) return { command };
  await mkdir(cacheRoot(), { recursive: true });
  return withLock(join(cacheRoot(), "schemathesis.lock"), { waitMs: lockWaitMs, onWait: () => undefined }, async () => {
    return existsSync(command) ? { command } : install(folder, command);
  });
}

/** A virtual environment knows its own path, so that it is made in place and removed when it is not whole. */
async function install(folder: string, command: string): Promise<Schemathesis> {
  const steps = [
    ["python3", ["-m", "venv", folder]],
    [join(folder, "bin", "pip"), ["install", "--quiet", "--disable-pip-version-check", "--requirement", requirements]],
  ] as const;
  for (const [program, args] of steps) {
    const { code, stderr } = await run(program, args, { timeoutMs: installMsMax });
    if (code === 0) continue;
    await rm(folder, { recursive: true, force: true });
    return { missing: `schemathesis cannot be installed: ${program} ended with ${code}: ${stderr.trim().slice(-500)}` };
  }
  return { command };
}
