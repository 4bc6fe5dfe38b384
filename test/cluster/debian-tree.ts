import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { makingFolder, moveInPlace } from "../tools/go-build.ts";
import { withLock } from "../tools/lock.ts";
import { cacheRoot } from "../tools/resolve.ts";
import { run, type RunResult } from "../tools/run.ts";
import type { Progress } from "./cluster.ts";

/** Debian packages that are unpacked into one folder, as if it were the root of a file system. */
interface DebianTreeRequest {
  /** The first part of the cache folder's name. */
  readonly name: string;
  readonly packages: readonly string[];
  /** Whether to add the packages they depend on that are not installed here. */
  readonly withDependencies: boolean;
  /** Completes the unpacked files. */
  readonly finish: (tree: string) => Promise<void>;
  /** Part of the cache folder's name too, so that a change of `finish` makes a new one. */
  readonly revision: number;
}

const simulateMsMax = 60_000;
const downloadMsMax = 10 * 60_000;
const lockWaitMs = 15 * 60_000;
const hashLength = 16;

/**
 * The folder with the unpacked packages, from the cache or made now. Nothing is installed and no package's scripts run.
 *
 * @throws Error with what apt-get or dpkg said
 */
export async function debianTree(request: DebianTreeRequest, progress: Progress): Promise<string> {
  const target = join(cacheRoot(), `${request.name}-${await treeHash(request)}`);
  if (existsSync(target)) return target;
  await mkdir(cacheRoot(), { recursive: true });
  const onWait = (pid: number): void => progress(`process ${pid} is unpacking packages; waiting for it`);
  await withLock(join(cacheRoot(), "debian.lock"), { waitMs: lockWaitMs, onWait }, async () => {
    if (!existsSync(target)) await unpack(request, target, progress);
  });
  return target;
}

async function unpack(request: DebianTreeRequest, target: string, progress: Progress): Promise<void> {
  const names = request.withDependencies ? await withMissing(request.packages) : request.packages;
  progress(`unpacking ${names.length} Debian packages for ${request.name} (once)`);
  const making = await makingFolder(target);
  try {
    const [archives, tree] = [join(making, "archives"), join(making, "tree")];
    await Promise.all([mkdir(archives), mkdir(tree)]);
    succeeded(
      "apt-get download",
      await run("apt-get", ["download", ...names], { cwd: archives, timeoutMs: downloadMsMax }),
    );
    for (const archive of await readdir(archives))
      succeeded("dpkg -x", await run("dpkg", ["-x", join(archives, archive), tree], { timeoutMs: downloadMsMax }));
    await request.finish(tree);
    await moveInPlace(tree, target);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

async function withMissing(packages: readonly string[]): Promise<readonly string[]> {
  const args = ["--simulate", "--no-install-recommends", "install", ...packages];
  const simulated = await run("apt-get", args, { env: { LC_ALL: "C" }, timeoutMs: simulateMsMax });
  if (simulated.code !== 0)
    throw new Error(`apt-get does not know every package (does "apt-get update" help?): ${simulated.stderr.trim()}`);
  return [...new Set([...packages, ...newPackages(simulated.stdout)])].sort();
}

/** The packages that `apt-get --simulate install` would add; not those it would only bring up to date. */
export function newPackages(simulation: string): readonly string[] {
  return [...simulation.matchAll(/^Inst (\S+) \(/gmu)].map(([, name = ""]) => name);
}

/** Names the release, because a package's libraries fit only the system that they were made for. */
async function treeHash(request: DebianTreeRequest): Promise<string> {
  const release = await readFile("/etc/os-release", "utf8");
  const parts = [request.packages, request.revision, release, process.arch];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, hashLength);
}

function succeeded(what: string, result: RunResult): void {
  if (result.code !== 0) throw new Error(`${what} ended with ${result.code}: ${result.stderr.trim()}`);
}
