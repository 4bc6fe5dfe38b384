import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startServerProcess, type ServerProcess } from "../support/server-process.ts";
import { waitFor } from "../support/wait.ts";
import { succeed } from "../tools/run.ts";
import { goEnvironment, recipientsFolder } from "./programs.ts";

/** A published endpoint that runs. */
export interface Endpoint extends ServerProcess {
  /** Origin, without a path. */
  readonly url: string;
}

const buildMsMax = 120_000;
const startMsMax = 30_000;

/** Starts `docs/recipients/python/endpoint.py` with a database in a folder. */
export async function startPythonEndpoint(command: string, folder: string, key: string): Promise<Endpoint> {
  const keyFile = await written(folder, "python.key", key);
  const program = join(recipientsFolder("python"), "endpoint.py");
  return started("python", command, ["-B", program, "0", join(folder, "payouts.db")], keyFile);
}

/** Builds and starts `docs/recipients/go/endpoint`. */
export async function startGoEndpoint(folder: string, key: string): Promise<Endpoint> {
  const keyFile = await written(folder, "go.key", key);
  const program = join(folder, "endpoint");
  const args = ["build", "-trimpath", "-o", program, "./endpoint"];
  await succeed("go", args, { cwd: recipientsFolder("go"), env: goEnvironment, timeoutMs: buildMsMax });
  return started("go", program, ["127.0.0.1:0"], keyFile);
}

async function written(folder: string, name: string, key: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, key);
  return file;
}

async function started(name: string, command: string, args: readonly string[], keyFile: string): Promise<Endpoint> {
  const env = { HELIOGRAPH_KEY_FILE: keyFile };
  const process = await startServerProcess({ name, command, args, env, ready: async () => true });
  const urlOf = () => /listening on (?<url>\S+)/u.exec(process.log())?.groups?.["url"];
  const url = await waitFor(urlOf, { timeoutMs: startMsMax, what: `the ${name} endpoint` });
  return { ...process, url };
}
