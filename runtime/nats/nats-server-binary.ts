import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { isVersionEnough, serverVersionMin } from "./server-version.ts";

const versionTimeoutMs = 10_000;

/** What the search looks at. */
export type SearchEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * Finds nats-server: the path in `HELIOGRAPH_NATS_SERVER`, else the first of that name on `PATH`.
 *
 * @throws Error in a sentence for people when there is none or it is too old
 */
export async function findNatsServer(environment: SearchEnvironment): Promise<string> {
  const path = await searchNatsServer(environment);
  const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: versionTimeoutMs });
  const version = /v?(?<version>\d+\.\d+\.\d+)/u.exec(stdout)?.groups?.["version"] ?? "";
  if (!isVersionEnough(version)) {
    throw new Error(
      `${path} has version ${version || "unknown"}, but nats-server ${serverVersionMin} or newer is needed`,
    );
  }
  return path;
}

async function searchNatsServer({
  HELIOGRAPH_NATS_SERVER: named,
  PATH: path = "",
}: SearchEnvironment): Promise<string> {
  if (named !== undefined && named !== "") {
    if (await isExecutable(named)) {
      return named;
    }
    throw new Error(`HELIOGRAPH_NATS_SERVER is ${named}, which is not a program that can be run`);
  }
  for (const folder of path.split(delimiter).filter((part) => part !== "")) {
    const candidate = join(folder, "nats-server");
    if (await isExecutable(candidate)) {
      return candidate;
    }
  }
  throw new Error("nats-server was not found: put it on PATH or set HELIOGRAPH_NATS_SERVER to where it is");
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
