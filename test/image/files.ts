import { existsSync } from "node:fs";
import { chmod, cp, lutimes, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { run, succeed } from "../tools/run.ts";
import { billOfMaterials } from "./bill-of-materials.ts";
import { isShipped, shippedPackages, productionPackages, type LockFile } from "./production-packages.ts";

const compileMsMax = 5 * 60_000;
const buildMsMax = 2 * 60_000;
const [fileMode, folderMode] = [0o644, 0o755];

/**
 * Puts everything that the image adds to its base into a folder: the compiled product, the packages that it needs, the
 * built console, the licence and the bill of materials, all below `app`. Times, modes and order depend on nothing but
 * the checkout, so that equal inputs make an equal layer.
 *
 * @param root of the checkout, with its packages installed
 * @param target is emptied first
 * @throws Error with what the compiler said
 */
export async function writeImageFiles(root: string, target: string): Promise<void> {
  const app = join(target, "app");
  await rm(target, { recursive: true, force: true });
  await mkdir(app, { recursive: true });
  await compile(root, app);
  // A release before the console has none.
  if (existsSync(join(root, "console"))) await buildConsole(root, join(app, "dist", "console"));
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as LockFile;
  const packages = productionPackages(lock);
  await copyPackages(root, app, packages);
  await cp(join(root, "LICENSE"), join(app, "LICENSE"));
  const manifest = await manifestOf(root);
  await writeJson(join(app, "package.json"), manifest);
  await writeJson(join(app, "sbom.cdx.json"), billOfMaterials(manifest, lock, shippedPackages(lock)));
  await normalise(target);
}

async function compile(root: string, app: string): Promise<void> {
  const args = ["--project", join(root, "test", "image", "tsconfig.json"), "--outDir", app];
  const { code, stdout, stderr } = await run(join(root, "node_modules", ".bin", "tsc"), args, {
    timeoutMs: compileMsMax,
  });
  if (code !== 0) throw new Error(`tsc ended with ${code}: ${(stdout || stderr).trim()}`);
}

/**
 * Builds the page of `/console` into a folder, which is emptied first.
 * @throws Error with what the build said
 */
export async function buildConsole(root: string, target: string): Promise<void> {
  const config = join(root, "console", "vite.config.ts");
  // By this Node: the first one on PATH may be too old for a configuration in TypeScript.
  await succeed(
    process.execPath,
    [
      join(root, "node_modules", "vite", "bin", "vite.js"),
      "build",
      "--config",
      config,
      "--configLoader",
      "native",
      "--outDir",
      target,
      "--emptyOutDir",
      "--logLevel",
      "warn",
    ],
    { timeoutMs: buildMsMax, cwd: root },
  );
}

async function copyPackages(root: string, app: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const from = join(root, path);
    // Packages inside a package are in the list themselves, if the product needs them.
    const filter = (source: string): boolean => {
      const inside = relative(from, source);
      return inside.split("/")[0] !== "node_modules" && isShipped(inside);
    };
    await cp(from, join(app, path), { recursive: true, filter });
  }
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly type: string;
}

/** The least that Node needs to know: these are modules, and what they are. */
async function manifestOf(root: string): Promise<Manifest> {
  const { name, version, description, license, type } = JSON.parse(
    await readFile(join(root, "package.json"), "utf8"),
  ) as Manifest;
  return { name, version, description, license, type };
}

async function writeJson(path: string, value: object): Promise<void> {
  await writeFile(path, `${JSON.stringify(value, undefined, 1)}\n`);
}

/** Folders that only held types are gone, every user may read, none may write, and every time is the oldest. */
async function normalise(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) await normalise(inside);
    else await settle(inside, fileMode);
  }
  const isEmpty = (await readdir(path)).length === 0;
  if (isEmpty) await rm(path, { recursive: true });
  else await settle(path, folderMode);
}

async function settle(path: string, mode: number): Promise<void> {
  await chmod(path, mode);
  await lutimes(path, 0, 0);
}

if (import.meta.main) {
  const root = dirname(dirname(import.meta.dirname));
  const target = join(root, "dist", "image");
  await writeImageFiles(root, target);
  process.stdout.write(`${relative(root, target)} holds ${basename(target)}'s files\n`);
}
