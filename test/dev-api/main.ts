import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startKubeApi } from "../support/kube-api.ts";
import { waitFor } from "../support/wait.ts";
import { definitionFiles } from "../tools/resource-types.ts";
import { resolveTool } from "../tools/resolve.ts";

/** The servers that run, as their process wrote it down. */
interface Held {
  readonly pid: number;
  readonly kubeconfig: string;
}

const self = fileURLToPath(import.meta.url);
const definitionsFolder = fileURLToPath(new URL("../../crds", import.meta.url));
const stateDefault = fileURLToPath(new URL("../../.heliograph/api", import.meta.url));
const upMsMax = 120_000;
const downMsMax = 30_000;

/**
 * Starts or ends an etcd and an API server with the four kinds, for development. They outlive the command: a process
 * in the background holds them. Progress goes to standard error; the last line of `up`, and the only one on standard
 * output, is the path of the kubeconfig.
 */
async function main([command, state = stateDefault]: readonly string[]): Promise<void> {
  if (command === "up") process.stdout.write(`${await up(state)}\n`);
  else if (command === "down") await down(state);
  else if (command === "hold") await hold(state);
  else throw new Error("usage: node test/dev-api/main.ts up|down [STATE FOLDER]");
}

async function up(state: string): Promise<string> {
  const running = await heldIn(state);
  if (running !== undefined) {
    say("it runs already");
    return running.kubeconfig;
  }
  // Built here, where a user sees the progress, and not in the background.
  for (const tool of ["etcd", "kube-apiserver"] as const) await resolveTool(tool);
  await mkdir(state, { recursive: true });
  await rm(stateFile(state), { force: true });
  const log = await open(join(state, "log"), "w");
  const child = spawn(process.execPath, [self, "hold", state], { detached: true, stdio: ["ignore", log.fd, log.fd] });
  child.unref();
  await log.close();
  const held = await waitFor(
    async () => {
      if (child.exitCode !== null) return "ended" as const;
      return await heldIn(state);
    },
    { timeoutMs: upMsMax, pollMs: 100, what: "the API server" },
  );
  if (held === "ended") throw new Error(`it did not start:\n${await readFile(join(state, "log"), "utf8")}`);
  say("etcd and the API server run; the four kinds are served. The kubeconfig:");
  return held.kubeconfig;
}

async function down(state: string): Promise<void> {
  const held = await heldIn(state);
  if (held !== undefined) {
    process.kill(held.pid, "SIGTERM");
    await waitFor(() => !isAlive(held.pid) && !existsSync(held.kubeconfig), {
      timeoutMs: downMsMax,
      what: "both servers to end",
    });
  }
  await rm(state, { recursive: true, force: true });
  say("nothing is left");
}

/** Runs both servers until a signal comes. */
async function hold(state: string): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
  });
  const kube = await startKubeApi();
  try {
    for (const file of definitionFiles) {
      const { code, stderr } = await kube.kubectl([
        "apply",
        "--server-side",
        "-f",
        join(definitionsFolder, `${file}.yaml`),
      ]);
      if (code !== 0) throw new Error(stderr);
    }
    await waitFor(async () => (await kube.kubectl(["get", "heliograph"])).code === 0, {
      timeoutMs: downMsMax,
      what: "the four kinds to be served",
    });
    const held: Held = { pid: process.pid, kubeconfig: kube.kubeconfig };
    await writeFile(`${stateFile(state)}.new`, JSON.stringify(held));
    await rename(`${stateFile(state)}.new`, stateFile(state));
    await ended;
  } finally {
    await kube.stop();
  }
}

/** Undefined when nothing runs: the folder of the kubeconfig lives and dies with the servers. */
async function heldIn(state: string): Promise<Held | undefined> {
  if (!existsSync(stateFile(state))) return undefined;
  const held = JSON.parse(await readFile(stateFile(state), "utf8")) as Held;
  return isAlive(held.pid) && existsSync(held.kubeconfig) ? held : undefined;
}

function stateFile(state: string): string {
  return join(state, "held.json");
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function say(line: string): void {
  process.stderr.write(`api: ${line}\n`);
}

if (import.meta.main) {
  await main(process.argv.slice(2)).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
