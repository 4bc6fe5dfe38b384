import { access, constants, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

/** Environment of the search. */
export type SearchEnvironment = Readonly<Record<string, string | undefined>>;

/** One folder per version, as `npm run tools` of a checkout names them: no unfinished one and no backup. */
const cachedFolder = /^[a-z-]+-[0-9a-f]+$/u;

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

export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
