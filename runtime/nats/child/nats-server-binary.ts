import { execFile } from "node:child_process";
import { access, constants, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { isVersionEnough, serverVersionMin } from "../connection/server-version.ts";

const versionTimeoutMs = 10_000;
/** One folder per version, as `npm run tools` of a checkout names them. */
const cachedFolder = /^nats-server-\w+$/u;
const notFound =
  "nats-server was not found: put it on PATH, set HELIOGRAPH_NATS_SERVER to where it is, or run npm run tools -- " +
  "nats-server in a checkout";

/** Environment of the search. */
export type SearchEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * Finds nats-server: the path in `HELIOGRAPH_NATS_SERVER`, else the first of that name on `PATH`, else one in the cache
 * of a checkout on this machine.
 * @throws Error with one sentence for the operator when there is none or it is too old
 */
export async function findNatsServer(environment: SearchEnvironment): Promise<string> {
  const { HELIOGRAPH_NATS_SERVER: named = "", PATH: path = "" } = environment;
  if (named !== "") {
    if (!(await isExecutable(named))) {
      throw new Error(`HELIOGRAPH_NATS_SERVER is ${named}, which is not an executable file`);
    }
    return await firstNewEnough([named]);
  }
  const folders = path.split(delimiter).filter((part) => part !== "");
  const [onPath] = await executablesIn(folders);
  return await firstNewEnough(onPath === undefined ? await executablesIn(await cachedFolders(environment)) : [onPath]);
}

/** Returns the first path whose version is new enough. @throws Error about the last one when none is */
async function firstNewEnough(paths: readonly string[]): Promise<string> {
  let problem = notFound;
  for (const path of paths) {
    const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: versionTimeoutMs });
    const version = /v?(?<version>\d+\.\d+\.\d+)/u.exec(stdout)?.groups?.["version"] ?? "";
    if (isVersionEnough(version)) {
      return path;
    }
    problem = `${path} has version ${version || "unknown"}, but nats-server ${serverVersionMin} or newer is needed`;
  }
  throw new Error(problem);
}

async function cachedFolders(environment: SearchEnvironment): Promise<readonly string[]> {
  const { HOME: home = homedir(), XDG_CACHE_HOME: cache = join(home, ".cache") } = environment;
  const tools = join(cache, "heliograph", "tools");
  const names = await readdir(tools).catch((): string[] => []);
  return names.filter((name) => cachedFolder.test(name)).map((name) => join(tools, name));
}

async function executablesIn(folders: readonly string[]): Promise<readonly string[]> {
  const paths = folders.map((folder) => join(folder, "nats-server"));
  const areExecutable = await Promise.all(paths.map(isExecutable));
  return paths.filter((_path, index) => areExecutable[index]);
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
