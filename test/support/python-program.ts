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
const errorCharactersMax = 500;

/** The command, or why there is none. */
type PythonProgram = { readonly command: string } | { readonly missing: string };

/**
 * A program of the Python package index. `test/tools/NAME/requirements.txt` pins it with all that it needs. It is
 * installed once into a folder of its own beside the other tools; a machine without Python 3 or the index has none. The
 * command of a package without a program is the interpreter that has it.
 */
export async function findPythonProgram(
  name:
    | "checkov"
    | "cloudevents"
    | "cryptography"
    | "envoy"
    | "frameworks"
    | "prometheus-api-client"
    | "schemathesis"
    | "zizmor",
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
  process.stderr.write(`heliograph tools: installing ${name} from the Python package index\n`);
  const problem = await makeEnvironment(folder, requirements);
  if (problem !== undefined) {
    await rm(folder, { recursive: true, force: true });
    const missing = `${name} cannot be installed: ${problem}`;
    process.stderr.write(`heliograph tools: ${missing}\n`);
    return { missing };
  }
  const command = join(folder, "bin", name);
  if (!existsSync(command)) await symlink("python", command);
  return { command };
}

/** Why there is no environment with these packages; undefined when there is one. */
async function makeEnvironment(folder: string, requirements: string): Promise<string | undefined> {
  const packages = ["install", "--quiet", "--disable-pip-version-check", "--requirement", requirements];
  const problem = await problemOf("python3", ["-m", "venv", folder]);
  if (problem === undefined) return explained(await problemOf(join(folder, "bin", "pip"), packages));
  // Debian has the pip of environments in a package of its own. The pip of the machine can take its place.
  const [command, pip] = [join(folder, "bin", "python"), ["-m", "pip", "--python"]] as const;
  if ((await problemOf("python3", ["-m", "pip", "--version"])) !== undefined)
    return `${problem}. Install Python 3 with its venv module (on Debian python3-venv), or with pip 22.3 or newer.`;
  const bare = await problemOf("python3", ["-m", "venv", "--clear", "--without-pip", folder]);
  return bare ?? explained(await problemOf("python3", [...pip, command, ...packages]));
}

function explained(problem: string | undefined): string | undefined {
  const advice = "Let pip reach its index (PIP_INDEX_URL), with a Python that requirements.txt has hashes for.";
  return problem === undefined ? undefined : `${problem}. ${advice}`;
}

async function problemOf(program: string, args: readonly string[]): Promise<string | undefined> {
  const { code, stdout, stderr } = await run(program, args, { timeoutMs: installMsMax });
  if (code === 0) return undefined;
  const text = `${stdout.trim()} ${stderr.trim()}`.trim().slice(-errorCharactersMax);
  return `${program} ${args.slice(0, 2).join(" ")} ended with ${code}: ${text}`;
}
