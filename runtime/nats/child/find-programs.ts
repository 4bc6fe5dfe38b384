import { execFile } from "node:child_process";
import { access, constants, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { isVersionEnough, serverVersionMin } from "../connection/server-limits.ts";

/** Environment of the search. */
export type SearchEnvironment = Readonly<Record<string, string | undefined>>;

/** One folder per version, as `npm run tools` of a checkout names them: no unfinished one and no backup. */
const cachedFolder = /^[a-z-]+-[0-9a-f]+$/u;

const versionTimeoutMs = 10_000;
const notFound =
  `nats-server was not found: put version ${serverVersionMin} or newer on PATH (https://nats.io/download), name it ` +
  "with --nats-server or HELIOGRAPH_NATS_SERVER, use a running one with --nats, or run npm run tools -- nats-server " +
  "in a checkout";

/**
 * The programs of a name on `PATH`, and then those in the cache of a checkout on this machine.
 * @param source folder of the cache without the digits at its end
 */
export async function findPrograms(
  name: string,
  source: string,
  environment: SearchEnvironment,
): Promise<readonly string[]> {
  const folders = (environment["PATH"] ?? "").split(delimiter).filter((part) => part !== "");
  const cached = (await cachedFolders(environment)).filter((folder) => folder.includes(join("tools", `${source}-`)));
  const paths = [...folders, ...cached].map((folder) => join(folder, name));
  const areExecutable = await Promise.all(paths.map(isExecutable));
  return paths.filter((_path, index) => areExecutable[index]);
}

async function cachedFolders(environment: SearchEnvironment): Promise<readonly string[]> {
  const { HOME: home = homedir(), XDG_CACHE_HOME: cache = join(home, ".cache") } = environment;
  const tools = join(cache, "heliograph", "tools");
  const names = await readdir(tools).catch((): string[] => []);
  return names.filter((name) => cachedFolder.test(name)).map((name) => join(tools, name));
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/**
 * Finds nats-server: the path in `HELIOGRAPH_NATS_SERVER`, else the first new enough one of that name on `PATH` and in
 * the cache of a checkout on this machine.
 * @throws Error with one sentence for the operator when there is none or it is too old
 */
export async function findNatsServer(environment: SearchEnvironment): Promise<string> {
  const { HELIOGRAPH_NATS_SERVER: named = "" } = environment;
  if (named === "") return await firstNewEnough(await findPrograms("nats-server", "nats-server", environment));
  if (await isExecutable(named)) return await firstNewEnough([named]);
  throw new Error(`HELIOGRAPH_NATS_SERVER is ${named}, which is not an executable file`);
}

/** Returns the first path whose version is new enough. @throws Error about the first one when none is */
async function firstNewEnough(paths: readonly string[]): Promise<string> {
  const problems: string[] = [];
  for (const path of paths) {
    const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: versionTimeoutMs });
    const version = /v?(?<version>\d+\.\d+\.\d+)/u.exec(stdout)?.groups?.["version"] ?? "";
    if (isVersionEnough(version)) return path;
    problems.push(
      `${path} has version ${version || "unknown"}, but nats-server ${serverVersionMin} or newer is needed`,
    );
  }
  throw new Error(problems[0] ?? notFound);
}
