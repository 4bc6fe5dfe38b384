import { existsSync } from "node:fs";
import { access, constants, mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { unpackDebianPackage } from "./debian-package.ts";
import { buildFromModules, cacheFolderName, goProblem, type Progress } from "./go-build.ts";
import { withLock } from "./lock.ts";
import { type Route, routesTo, versionProblem } from "./routes.ts";
import { run } from "./run.ts";
import { type Tool, type ToolName, tools } from "./tool-table.ts";
import { formatVersion, type Version } from "./version.ts";

const versionMsMax = 20_000;
const lockWaitMs = 45 * 60_000;
const waitLineEveryMs = 5_000;

/** What a caller may ask of a program, and where to look for and keep it. */
export interface ResolveOptions {
  /** The oldest version that is good enough. @default the table's */
  readonly minimum?: Version;
  /** @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** @default this folder, which holds one folder with a go.mod per source */
  readonly toolsFolder?: string;
  /** Takes a line about what takes long. @default standard error */
  readonly progress?: Progress;
}

/**
 * The path of a program: one named by the environment, found on PATH or in `KUBEBUILDER_ASSETS`, cached, unpacked from
 * a Debian package, or built from the Go modules pinned beside this file, whichever comes first.
 *
 * @throws Error with a sentence about what to install when there is no way to come by it
 */
export function resolveTool(name: ToolName, options: ResolveOptions = {}): Promise<string> {
  return resolveProgram(name, tools[name], options);
}

/** `resolveTool` for a program that is not in the table. */
export async function resolveProgram(name: string, tool: Tool, options: ResolveOptions = {}): Promise<string> {
  const search: Search = {
    name,
    tool,
    minimum: options.minimum ?? tool.minimum,
    env: options.env ?? process.env,
    toolsFolder: options.toolsFolder ?? fileURLToPath(new URL(".", import.meta.url)).replace(/\/$/u, ""),
    progress: options.progress ?? ((line) => void process.stderr.write(`heliograph tools: ${line}\n`)),
  };
  for (const route of routesTo(name, tool, search.env)) {
    const path = await follow(route, search);
    if (path !== undefined) return path;
  }
  throw new Error(await whatToInstall(search));
}

interface Search {
  readonly name: string;
  readonly tool: Tool;
  readonly minimum: Version;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly toolsFolder: string;
  readonly progress: Progress;
}

function follow(route: Route, search: Search): Promise<string | undefined> {
  switch (route.kind) {
    case "named":
      return takeNamed(route.path, route.variable, search);
    case "found":
      return takeFound(route.path, search);
    case "cache":
      return takeCached(search);
    case "debian":
      return takeDebian(route.package, search);
    case "build":
      return takeBuilt(search);
  }
}

async function takeNamed(path: string, variable: string, search: Search): Promise<string> {
  const problem = await problemOf(path, search);
  if (problem === undefined) return path;
  throw new Error(`${variable} cannot be used: ${problem}.`);
}

async function takeFound(path: string, search: Search): Promise<string | undefined> {
  if (!existsSync(path)) return undefined;
  const problem = await problemOf(path, search);
  if (problem === undefined) return path;
  search.progress(`${problem}, so it is passed over`);
  return undefined;
}

async function takeCached(search: Search): Promise<string | undefined> {
  const path = cachedPath(search);
  return existsSync(path) ? path : undefined;
}

async function takeDebian(debianPackage: string, search: Search): Promise<string | undefined> {
  const folder = join(cacheRoot(search.env), `${debianPackage}-debian`);
  const path = join(folder, search.name);
  const unpack = () => unpackDebianPackage(debianPackage, search.minimum, folder, search.progress);
  if (!existsSync(path) && !(await onlyOnce("debian", path, search, unpack))) return undefined;
  if (search.tool.source.isMuteInDebian === true) return path;
  return (await problemOf(path, search)) === undefined ? path : undefined;
}

async function takeBuilt(search: Search): Promise<string | undefined> {
  const { source } = search.tool;
  if ((await goProblem(source, search.toolsFolder)) !== undefined) return undefined;
  const path = cachedPath(search);
  await onlyOnce("build", path, search, async () => {
    await buildFromModules(source, search.toolsFolder, dirname(path), search.progress);
    return true;
  });
  return path;
}

/**
 * Runs work that puts a program in place, unless another process does so while this one waits for its turn. All builds
 * share one lock, since two at once would only slow each other down.
 */
async function onlyOnce(
  lock: "build" | "debian",
  path: string,
  search: Search,
  work: () => Promise<boolean>,
): Promise<boolean> {
  const root = cacheRoot(search.env);
  await mkdir(root, { recursive: true });
  let reportedAtMs = -waitLineEveryMs;
  const onWait = (holderPid: number, waitedMs: number): void => {
    if (waitedMs - reportedAtMs < waitLineEveryMs) return;
    reportedAtMs = waitedMs;
    const seconds = Math.round(waitedMs / 1000);
    search.progress(`process ${holderPid} is preparing a program; waiting for it before ${search.name}: ${seconds} s`);
  };
  return withLock(join(root, `${lock}.lock`), { waitMs: lockWaitMs, onWait }, async () => {
    return existsSync(path) || (await work());
  });
}

function cachedPath(search: Search): string {
  return join(cacheRoot(search.env), cacheFolderName(search.tool.source, search.toolsFolder), search.name);
}

/** Where programs that were built or unpacked are kept, outside the checkout. */
export function cacheRoot(env: Readonly<Record<string, string | undefined>> = process.env): string {
  return join(env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "heliograph", "tools");
}

async function problemOf(path: string, search: Search): Promise<string | undefined> {
  const executable = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!executable) return `${path} is not an executable file`;
  const { code, stdout, stderr } = await run(path, search.tool.versionArgs, { timeoutMs: versionMsMax });
  if (code !== 0) return `${path} ${search.tool.versionArgs.join(" ")} ended with ${code}`;
  // Prometheus 2 prints its version to standard error.
  return versionProblem(path, stdout.trim() === "" ? stderr : stdout, search.minimum);
}

async function whatToInstall(search: Search): Promise<string> {
  const { tool, name } = search;
  const problem = await goProblem(tool.source, search.toolsFolder);
  const variable = tool.pathVariable ?? tool.folderVariable;
  return [
    `${name} ${formatVersion(search.minimum)} or newer is needed, and ${problem ?? "it could not be built"}.`,
    "Install Go 1.26 or newer (https://go.dev/dl) so that it is built once,",
    `or put ${name} on PATH${variable === undefined ? "" : ` or name it in ${variable}`}.`,
  ].join(" ");
}

async function main(names: readonly string[]): Promise<void> {
  const known = Object.keys(tools);
  const unknown = names.filter((name) => !known.includes(name));
  if (names.length === 0 || unknown.length > 0)
    throw new Error(`usage: node test/tools/resolve.ts NAME..., each one of ${known.join(", ")}`);
  for (const name of names) process.stdout.write(`${await resolveTool(name as ToolName)}\n`);
}

if (import.meta.main) {
  await main(process.argv.slice(2)).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
