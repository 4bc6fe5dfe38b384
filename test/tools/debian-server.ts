import { existsSync, globSync } from "node:fs";
import { access, constants, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { unpackDebianTree } from "./debian-tree.ts";
import { withLock } from "./lock.ts";
import { cacheRoot, type ResolveOptions } from "./resolve.ts";

const lockWaitMs = 10 * 60_000;
/** Chromium needs libpulse, whose other half is in a folder of its own. */
const libraryFolders = ["usr/lib/*-linux-*", "lib/*-linux-*", "usr/lib/*-linux-*/pulseaudio"];

/** Servers that come from Debian's packages: no module of Go or Node builds them, or not in that old a version. */
export const debianServers = {
  postgres: { package: "postgresql", program: "usr/lib/postgresql/*/bin/postgres", variable: "HELIOGRAPH_POSTGRES" },
  vmalert: { package: "victoria-metrics", program: "usr/bin/vmalert", variable: "HELIOGRAPH_VMALERT" },
  /** The browser of the console's tests; no server, but unpacked in the same way. */
  chromium: { package: "chromium", program: "usr/lib/chromium/chromium", variable: "HELIOGRAPH_CHROMIUM" },
  nginx: { package: "nginx", program: "usr/sbin/nginx", variable: "HELIOGRAPH_NGINX" },
  "redis-server": { package: "redis-server", program: "usr/bin/redis-server", variable: "HELIOGRAPH_REDIS" },
} as const;

export type DebianServerName = keyof typeof debianServers;

/** A program that can be started, or why there is none. */
export type DebianServer =
  | {
      readonly command: string;
      /** The folder that holds all files of the program; absent when the environment names the program. */
      readonly tree?: string;
      /** For the program's process: where the libraries are. */
      readonly env: Readonly<Record<string, string>>;
    }
  | { readonly missing: string };

/**
 * A server that the environment names, or one unpacked from Debian's packages into the cache.
 *
 * @throws Error when the environment names a program that cannot be run
 */
export async function findDebianServer(name: DebianServerName, options: ResolveOptions = {}): Promise<DebianServer> {
  const env = options.env ?? process.env;
  const { variable } = debianServers[name];
  const named = env[variable];
  if (named !== undefined && named !== "") {
    await access(named, constants.X_OK).catch((cause: unknown) => {
      throw new Error(`${variable} cannot be used: ${named} is not an executable file.`, { cause });
    });
    return { command: named, env: {} };
  }
  const folder = join(cacheRoot(env), `${debianServers[name].package}-debian-tree`);
  const progress = options.progress ?? ((line) => void process.stderr.write(`heliograph tools: ${line}\n`));
  try {
    await unpackOnce(name, folder, env, progress);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replaceAll("\n", " ").slice(0, 300) : String(error);
    return { missing: `${name} is not there: ${reason}. Name the program in ${variable}, or use a Debian with apt.` };
  }
  return inTree(name, folder);
}

async function unpackOnce(
  name: DebianServerName,
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
  progress: (line: string) => void,
): Promise<void> {
  if (existsSync(folder)) return;
  await mkdir(cacheRoot(env), { recursive: true });
  const lock = join(cacheRoot(env), "debian.lock");
  await withLock(lock, { waitMs: lockWaitMs, onWait: () => undefined }, async () => {
    if (!existsSync(folder)) await unpackDebianTree(debianServers[name].package, folder, progress);
  });
}

/** The program in an unpacked tree or in a copy of one: servers find their files from their own path. */
export function inTree(name: DebianServerName, tree: string): DebianServer {
  const [program] = globSync(debianServers[name].program, { cwd: tree });
  if (program === undefined) return { missing: `${name} is not in ${tree}: remove that folder and try again.` };
  const libraries = globSync(libraryFolders, { cwd: tree }).map((path) => join(tree, path));
  return { command: join(tree, program), tree, env: { LD_LIBRARY_PATH: libraries.join(":") } };
}
