import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, rename, rm, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { run } from "./run.ts";
import type { ToolSource } from "./tool-table.ts";

const buildMsMax = 40 * 60_000;
const goListMsMax = 60_000;
const outputLinesShown = 20;
const hashLength = 16;

/** Tells how long work has taken, every few seconds, on standard error by default. */
export type Progress = (line: string) => void;

/**
 * The name of the cache folder for a source: it changes with the pinned modules, the source, the flags and the
 * platform, so that a cached program is always the one that a build would give.
 */
export function cacheFolderName(source: ToolSource, toolsFolder: string): string {
  const hash = createHash("sha256").update(
    JSON.stringify([buildArgs(source, toolsFolder), process.platform, process.arch]),
  );
  for (const name of ["go.mod", "go.sum", "main.go"]) {
    const path = join(toolsFolder, source.folder, name);
    if (existsSync(path)) hash.update(readFileSync(path));
  }
  return `${source.folder}-${hash.digest("hex").slice(0, hashLength)}`;
}

/** What keeps Go from building here, as a sentence; undefined when it can. */
export async function goProblem(source: ToolSource, toolsFolder: string): Promise<string | undefined> {
  // Any command that loads the module will do: it compares the go line of go.mod with the Go that runs.
  const { code, stderr } = await run("go", ["list", "-m"], {
    cwd: join(toolsFolder, source.folder),
    timeoutMs: goListMsMax,
  });
  if (code === 0) return undefined;
  return code === 127 ? "there is no Go on PATH" : `the Go on PATH does not suffice (${stderr.trim().split("\n")[0]})`;
}

/**
 * Builds a source's programs from its pinned Go modules and moves them into place with one rename.
 *
 * @throws Error with the end of Go's output when the build fails
 */
export async function buildFromModules(
  source: ToolSource,
  toolsFolder: string,
  target: string,
  progress: Progress,
): Promise<void> {
  const programs = source.packages.map((path) => programName(source, path)).join(" and ");
  const making = await makingFolder(target);
  try {
    await withElapsed(`building ${source.folder} from pinned Go modules (${source.cost})`, progress, async () => {
      const result = await run("go", [...buildArgs(source, toolsFolder), "-o", `${making}/`, ...source.packages], {
        cwd: join(toolsFolder, source.folder),
        env: { CGO_ENABLED: "0", GOWORK: "off" },
        timeoutMs: buildMsMax,
      });
      if (result.code !== 0) {
        const end = result.stderr.trim().split("\n").slice(-outputLinesShown).join("\n");
        throw new Error(`go build of ${programs} failed:\n${end}`);
      }
    });
    await Promise.all(source.links.map((link) => symlink(programName(source), join(making, link))));
    await moveInPlace(making, target);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

/** The name that Go gives to a package's program, by default to the first one's. */
function programName(source: ToolSource, path = source.packages[0] ?? "."): string {
  return basename(path === "." ? source.folder : path);
}

function buildArgs(source: ToolSource, toolsFolder: string): readonly string[] {
  const goMod = readFileSync(join(toolsFolder, source.folder, "go.mod"), "utf8");
  const flags = `-s -w ${source.linkerFlags(moduleVersion(goMod, source.versionModule))}`.trimEnd();
  return ["build", "-mod=readonly", "-trimpath", "-buildvcs=false", `-tags=${source.tags}`, `-ldflags=${flags}`];
}

/** The version that a go.mod requires of a module, or "" when it requires none. */
export function moduleVersion(goMod: string, module: string): string {
  const line = goMod.split("\n").map((text) =>
    text
      .trim()
      .replace(/^require /u, "")
      .split(" "),
  );
  return line.find(([name, version]) => name === module && version?.startsWith("v"))?.[1] ?? "";
}

/**
 * An empty folder to make a target in, beside it. The caller holds the lock, so that folders of the kind that are there
 * already were left by processes that were killed; they go.
 */
export async function makingFolder(target: string): Promise<string> {
  const prefix = `${basename(target)}.making.`;
  await mkdir(dirname(target), { recursive: true });
  const abandoned = (await readdir(dirname(target))).filter((name) => name.startsWith(prefix));
  await Promise.all(abandoned.map((name) => rm(join(dirname(target), name), { recursive: true, force: true })));
  const making = join(dirname(target), `${prefix}${process.pid}`);
  await mkdir(making);
  return making;
}

/** Moves a finished folder to its place in one step. The folder of a faster process stays. */
export async function moveInPlace(finished: string, target: string): Promise<void> {
  try {
    await rename(finished, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  }
}

const progressEveryMs = 5_000;

async function withElapsed<T>(what: string, progress: Progress, work: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  progress(what);
  const ticker = setInterval(() => {
    progress(`${what}: ${Math.round((performance.now() - startMs) / 1000)} s`);
  }, progressEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(ticker);
  }
}
