import { execFile } from "node:child_process";
import { chmod, chown, cp, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { type DebianServer, inTree } from "../../tools/debian-server.ts";
import { freePort } from "../free-port.ts";
import { startServerProcess, type ServerProcess } from "../server-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../temp-folder.ts";

/** A real Postgres on 127.0.0.1 with one empty database. */
export interface PostgresHandle {
  readonly url: string;
  /** Ends the server and removes what it stored. */
  stop(): Promise<void>;
}

/** The user `nobody`, since Postgres refuses to run as root. */
const nobody = { uid: 65_534, gid: 65_534 };
/** Half of the package's files. */
const unusedFolder = /\/(?:bitcode|doc|locale|man)$/u;
const initMsMax = 60_000;
const startTriesMax = 3;

/** A test needs no data that survives a crash of the machine. */
const settings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  fsync: "off",
  full_page_writes: "off",
  shared_buffers: "32MB",
  max_connections: "100",
};

/**
 * Starts a Postgres and resolves when it answers.
 *
 * @param found the result of `findDebianServer("postgres")`
 * @throws Error with the last lines of its log when it does not come up
 */
export async function startPostgres(found: DebianServer): Promise<PostgresHandle> {
  const folder = await temporaryFolder("postgres");
  try {
    const isRoot = process.getuid?.() === 0;
    const program = await programFor(found, folder, isRoot);
    const user = isRoot ? { user: nobody } : {};
    const data = join(folder.path, "data");
    const initdb = join(dirname(program.command), "initdb");
    const args = [
      "--pgdata",
      data,
      "--username=postgres",
      "--auth=trust",
      "--encoding=UTF8",
      "--locale=C",
      "--no-sync",
    ];
    const env = { ...process.env, ...program.env };
    await promisify(execFile)(initdb, args, { ...user.user, env, cwd: folder.path, timeout: initMsMax });
    const { server, url } = await launch({ ...program, ...user, cwd: folder.path }, data);
    return { url, stop: () => stopAll(server, folder) };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

interface Program {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

/** For root, a copy of the program: `nobody` cannot enter the cache below root's home. */
async function programFor(found: DebianServer, folder: TemporaryFolder, isRoot: boolean): Promise<Program> {
  if ("missing" in found) throw new Error(found.missing);
  if (!isRoot) return found;
  await chmod(folder.path, 0o755);
  const data = join(folder.path, "data");
  await mkdir(data, { mode: 0o700 });
  await chown(data, nobody.uid, nobody.gid);
  if (found.tree === undefined) return found;
  const copy = join(folder.path, "program");
  const isUsed = (path: string): boolean => !unusedFolder.test(path);
  await cp(found.tree, copy, { recursive: true, verbatimSymlinks: true, filter: isUsed });
  const copied = inTree("postgres", copy);
  if ("missing" in copied) throw new Error(copied.missing);
  return copied;
}

type Launch = Program & Pick<Parameters<typeof startServerProcess>[0], "user" | "cwd">;

async function launch(program: Launch, data: string): Promise<{ server: ServerProcess; url: string }> {
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    const flags = Object.entries({ ...settings, port }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    try {
      const server = await startServerProcess({
        name: "postgres",
        ...program,
        args: ["-D", data, ...flags],
        ready: () => answers(url),
        // "Fast": it does not wait until clients leave.
        stopSignal: "SIGINT",
      });
      return { server, url };
    } catch (error) {
      if (!String(error).includes("Address already in use") || tries >= startTriesMax) throw error;
    }
  }
}

async function stopAll(server: ServerProcess, folder: TemporaryFolder): Promise<void> {
  await server.stop();
  await folder.remove();
}

async function answers(url: string): Promise<boolean> {
  const client = new Client(url);
  await client.connect();
  await client.end();
  return true;
}
