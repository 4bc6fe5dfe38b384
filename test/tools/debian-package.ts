import { chmod, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { makingFolder, moveInPlace, type Progress } from "./go-build.ts";
import { run } from "./run.ts";
import { isAtLeast, parseVersion, type Version } from "./version.ts";

const policyMsMax = 30_000;
const downloadMsMax = 5 * 60_000;

/**
 * Unpacks a Debian package's programs into a folder without root and without installing it, when the package lists know
 * it in a version that suffices.
 *
 * @returns whether the programs are now in `target`
 */
export async function unpackDebianPackage(
  name: string,
  minimum: Version,
  target: string,
  progress: Progress,
): Promise<boolean> {
  const version = await candidateVersion(name);
  if (version === undefined || !isAtLeast(version, minimum)) return false;
  progress(`unpacking Debian's package ${name} ${version.join(".")}`);
  const making = await makingFolder(target);
  try {
    const got = await run("apt-get", ["download", name], { cwd: making, timeoutMs: downloadMsMax });
    const archive = (await readdir(making)).find((file) => file.endsWith(".deb"));
    if (got.code !== 0 || archive === undefined) return false;
    const unpacked = await run("dpkg", ["-x", archive, "tree"], { cwd: making, timeoutMs: downloadMsMax });
    if (unpacked.code !== 0) return false;
    const programs = join(making, "bin");
    await rename(join(making, "tree", "usr", "bin"), programs);
    await chmod(programs, 0o755);
    await moveInPlace(programs, target);
    return true;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

/** The version that `apt-get download` would fetch, if there is any. */
async function candidateVersion(name: string): Promise<Version | undefined> {
  const { stdout } = await run("apt-cache", ["policy", name], { env: { LC_ALL: "C" }, timeoutMs: policyMsMax });
  const line = stdout.split("\n").find((text) => text.trim().startsWith("Candidate:"));
  return line === undefined ? undefined : parseVersion(line.replace("Candidate:", "").replace(/^\s*\d+:/u, ""));
}
