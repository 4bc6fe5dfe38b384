import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { makingFolder, moveInPlace, type Progress } from "./go-build.ts";
import { run, succeed } from "./run.ts";

const listMsMax = 60_000;
const downloadMsMax = 5 * 60_000;
/** The code of {@link run} for a program that is not there. */
const notFound = 127;
/** Libraries need libraries; such chains are shorter. */
const levelsMax = 8;

/** Packages without which a program does not start: the one behind a name without a version, and libraries. */
const needed = /^(?:lib|postgresql-\d+$|redis-tools$|chromium-common$)/u;
/** Libraries that a server names and does not load here, such as the compiler of queries. */
const unused = /^lib(?:c6|c-bin|llvm|perl|z3)/u;

/**
 * Unpacks a Debian package with the libraries that this machine lacks into one folder, without root and without
 * installing them. It takes the version of the machine's package lists. A new machine has no lists, and old lists name
 * packages that are gone: then it fetches lists of its own.
 *
 * @throws Error with a sentence when apt is missing, or gives no such package
 */
export async function unpackDebianTree(name: string, target: string, progress: Progress): Promise<void> {
  const { code } = await run("apt-get", ["--version"], { timeoutMs: listMsMax });
  if (code === notFound) throw new Error("this machine has no apt");
  const making = await makingFolder(target);
  try {
    const archives = join(making, "archives");
    await mkdir(archives);
    await download(name, archives, [], progress).catch(async (error: unknown) => {
      progress(`fetching package lists, since ${error instanceof Error ? error.message : String(error)}`);
      await download(name, archives, await fetchLists(making), progress);
    });
    const tree = join(making, "tree");
    for (const archive of await readdir(archives))
      await succeed("dpkg", ["-x", join(archives, archive), tree], { timeoutMs: downloadMsMax });
    await moveInPlace(tree, target);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

async function download(name: string, folder: string, apt: readonly string[], progress: Progress): Promise<void> {
  const packages = [name, ...(await packagesBelow(name, apt))];
  progress(`downloading Debian's packages ${packages.join(", ")}`);
  await succeed("apt-get", [...apt, "--quiet", "download", ...packages], { cwd: folder, timeoutMs: downloadMsMax });
}

/** Options of apt that read lists fetched just now. One source that fails leaves those of the others. */
async function fetchLists(making: string): Promise<readonly string[]> {
  const lists = join(making, "lists");
  await mkdir(join(lists, "partial"), { recursive: true });
  const apt = ["-o", `Dir::State::Lists=${lists}`];
  await run("apt-get", [...apt, "--quiet", "update"], { timeoutMs: downloadMsMax });
  return apt;
}

/** The packages that a package needs, level by level, without installed libraries and what only those need. */
async function packagesBelow(name: string, apt: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  let level: readonly string[] = [name];
  for (let depth = 0; depth < levelsMax && level.length > 0; depth += 1) {
    const below = (await dependenciesOf(level, apt)).filter((one) => !found.has(one));
    level = await notInstalled(below);
    for (const one of level) found.add(one);
  }
  return [...found];
}

/** Of alternatives, apt prints all but the last with a bar in front; the first one counts. */
async function dependenciesOf(names: readonly string[], apt: readonly string[]): Promise<readonly string[]> {
  const quiet = ["--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"];
  const text = await succeed("apt-cache", [...apt, "depends", ...quiet, ...names], { timeoutMs: listMsMax });
  const lines = text.split("\n");
  const isFirst = (index: number): boolean => !(lines[index - 1] ?? "").trim().startsWith("|");
  const dependencies = lines.flatMap((line, index) => {
    const dependency = /^ +\|?(?:Pre)?Depends: (?<name>[a-z\d][a-z\d.+-]*)$/u.exec(line)?.groups?.["name"];
    return dependency !== undefined && isFirst(index) ? [dependency] : [];
  });
  return [...new Set(dependencies)].filter((one) => needed.test(one) && !unused.test(one));
}

/** The server itself is unpacked also where it is installed, so that every machine runs the same files. */
async function notInstalled(names: readonly string[]): Promise<readonly string[]> {
  if (names.length === 0) return [];
  const args = ["--show", "--showformat", "${Package} ${db:Status-Status}\n", ...names];
  // It ends with 1 when it does not know one of them.
  const { stdout } = await run("dpkg-query", args, { timeoutMs: listMsMax });
  const installed = new Set(stdout.split("\n").flatMap((line) => line.match(/^(?<name>\S+) installed$/u)?.[1] ?? []));
  return names.filter((name) => !name.startsWith("lib") || !installed.has(name));
}
