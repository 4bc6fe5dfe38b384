import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { isVersionEnough, serverVersionMin } from "../connection/server-version.ts";
import { findPrograms, isExecutable, type SearchEnvironment } from "./find-programs.ts";

const versionTimeoutMs = 10_000;
const notFound =
  `nats-server was not found: put version ${serverVersionMin} or newer on PATH (https://nats.io/download), name it ` +
  "with --nats-server or HELIOGRAPH_NATS_SERVER, use a running one with --nats, or run npm run tools -- nats-server " +
  "in a checkout";

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
