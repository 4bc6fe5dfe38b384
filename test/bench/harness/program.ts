import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandLineOf, endProcess } from "../../../runtime/nats/child/running-process.ts";
import { writeImageFiles } from "../../image/files.ts";
import type { ReadyLine } from "../../support/heliograph-process.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { guardAgainstOrphan } from "../../support/server-process.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";
import { makeIssuer, signToken } from "../../support/tokens.ts";
import { resolveTool } from "../../tools/resolve.ts";
import { sharedNowMs } from "../load/clock.ts";
import { allProcesses, residentMebibytes, treeCpuSeconds, treeOf } from "./processes.ts";

/** What the program and its nats-server have used so far, each process counted once. */
export interface Usage {
  readonly cpuSeconds: number;
  readonly natsCpuSeconds: number;
}

/** Resident memory in MiB: the largest process of the program, all of them, and its nats-server. */
export interface Resident {
  readonly largest: number;
  readonly all: number;
  readonly nats: number;
}

/** The program as it is measured: compiled as in the image, in processes of its own. */
export interface Subject {
  /** Of each pod. */
  readonly urls: readonly string[];
  readonly adminUrls: readonly string[];
  /** When the last pod was ready, by the clock that processes share. */
  readonly readyAtMs: number;
  usage(): Usage;
  resident(): Resident;
  /** Ends every process of the program at once and leaves its nats-server, as a crash would. */
  kill9(): Promise<void>;
  stop(): Promise<void>;
}

/** A folder of configuration with a data folder, and a caller's tokens. */
export interface Site {
  write(name: string, objects: readonly object[]): Promise<void>;
  token(client: string): Promise<string>;
  /** `heliograph run`; more flags override. A nats-server that a killed one left is taken over. */
  run(...flags: readonly string[]): Promise<Subject>;
  /** As many pods of `heliograph runtime` over one NATS. */
  pods(count: number, ...flags: readonly string[]): Promise<Subject>;
  remove(): Promise<void>;
}

const root = fileURLToPath(new URL("../../..", import.meta.url));
const [readyMsMax, endMsMax, tokenSeconds] = [60_000, 30_000, 12 * 3_600];

/** Compiles the product as the image holds it; answers the program's file. */
export async function compileProgram(): Promise<string> {
  const target = join(root, "dist", "bench");
  await writeImageFiles(root, target);
  return join(target, "app", "cli", "heliograph.js");
}

/** @param more settings besides those that every part has */
export async function makeSite(program: string, more: object = {}): Promise<Site> {
  const folder = await temporaryFolder("bench");
  const [config, data] = [join(folder.path, "config"), join(folder.path, "data")];
  await mkdir(config);
  const issuer = await makeIssuer("https://issuer.example");
  const settings = join(folder.path, "settings.json");
  await writeFile(join(folder.path, "keys.json"), JSON.stringify({ keys: [issuer.publicJwk] }));
  const trusted = { issuer: issuer.issuer, audiences: ["heliograph"], jwksFile: "keys.json" };
  await writeFile(settings, JSON.stringify({ issuers: [trusted], metrics: { deadlineMs: 20_000 }, ...more }));
  const natsServer = await resolveTool("nats-server");
  const common = ["--settings", settings, "--host", "127.0.0.1", "--drain-seconds", "2"];
  const own = ["--data", data, "--nats-server", natsServer];
  return {
    write: (name, objects) => writeFile(join(config, name), objects.map((one) => JSON.stringify(one)).join("\n---\n")),
    token: (client) => {
      const exp = Math.floor(Date.now() / 1_000) + tokenSeconds;
      const rights = { scope: "events:write webhooks:read metrics:read admin:preview", tenants: ["*"] };
      const who = { sub: client, client_id: client };
      return signToken(issuer, { iss: issuer.issuer, aud: "heliograph", exp, ...who, ...rights });
    },
    run: async (...flags) => {
      const process = await launch(program, ["run", config, ...ports(flags), ...common, ...own, ...flags]);
      return subjectOf([process], await natsPidIn(data), async () => endNats(data));
    },
    pods: (count, ...flags) => startPods(program, count, ["--config", config, ...common, ...flags]),
    remove: async () => {
      await endNats(data);
      await folder.remove();
    },
  };
}

/** Free ports, unless the flags name one. */
function ports(flags: readonly string[]): readonly string[] {
  return [...(flags.includes("--port") ? [] : ["--port", "0"]), "--admin-port", "0"];
}

async function startPods(program: string, count: number, flags: readonly string[]): Promise<Subject> {
  const nats: NatsServerHandle = await startNatsServer();
  const started = await Promise.all(
    Array.from({ length: count }, (_, place) => {
      const own = ["--nats", nats.url, "--pod-name", `bench-${place}`, "--unready-seconds", "0"];
      return launch(program, ["runtime", ...flags, ...own, ...ports(flags)]);
    }),
  );
  return subjectOf(started, nats.pid, () => nats.stop());
}

interface Launched {
  readonly child: ChildProcess;
  readonly line: ReadyLine;
  readonly readyAtMs: number;
  readonly release: () => void;
}

/** Log lines are read and thrown away, as bytes. @throws Error with the last of them */
async function launch(program: string, args: readonly string[]): Promise<Launched> {
  const environment = Object.entries(process.env).filter(([name]) => !name.startsWith("HELIOGRAPH_"));
  const child = spawn(process.execPath, [program, ...args], {
    env: Object.fromEntries(environment),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const guard = guardAgainstOrphan(child.pid ?? 0, "TERM");
  let last: Buffer = Buffer.alloc(0);
  child.stderr?.on("data", (bytes: Buffer) => {
    last = bytes;
  });
  const patience = AbortSignal.timeout(readyMsMax);
  const ready = once(child.stdout ?? child, "data", { signal: patience });
  const ended = once(child, "exit", { signal: patience }).then(() => {
    throw new Error(`the program ended with ${child.exitCode}: ${last.toString()}`);
  });
  const [line] = (await Promise.race([ready, ended])) as [Buffer];
  ended.catch(() => undefined);
  const readyAtMs = sharedNowMs();
  return { child, line: JSON.parse(line.toString()) as ReadyLine, readyAtMs, release: () => guard.release() };
}

/** The ports of all pods. */
export function portsOf({ urls }: Pick<Subject, "urls">): readonly number[] {
  return urls.map((url) => Number(new URL(url).port));
}

function subjectOf(started: readonly Launched[], natsPid: number, endServer: () => Promise<void>): Subject {
  const pids = started.map(({ child }) => child.pid ?? 0);
  const except = [natsPid];
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    await Promise.all(started.map((one) => endLaunched(one, signal)));
  };
  return {
    urls: started.map(({ line }) => line.url),
    adminUrls: started.map(({ line }) => line.admin_url),
    readyAtMs: Math.max(...started.map(({ readyAtMs }) => readyAtMs)),
    usage: () => ({
      cpuSeconds: pids.reduce((sum, pid) => sum + treeCpuSeconds(pid, false, except), 0),
      natsCpuSeconds: treeCpuSeconds(natsPid),
    }),
    resident: () => {
      const trees = pids.flatMap((pid) => treeOf(allProcesses(), pid, except));
      const sizes = trees.map(({ pid }) => residentMebibytes(pid));
      return {
        largest: Math.max(...sizes),
        all: sizes.reduce((sum, size) => sum + size, 0),
        nats: residentMebibytes(natsPid),
      };
    },
    kill9: () => end("SIGKILL"),
    stop: async () => {
      await end("SIGTERM");
      await endServer();
    },
  };
}

async function endLaunched({ child, release }: Launched, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, "exit");
    child.kill(signal);
    const patience = setTimeout(() => child.kill("SIGKILL"), endMsMax);
    await gone.finally(() => clearTimeout(patience));
  }
  release();
}

async function natsPidIn(data: string): Promise<number> {
  const text = await readFile(join(data, "nats", "server.json"), "utf8").catch(() => "{}");
  return (JSON.parse(text) as { readonly pid?: number }).pid ?? 0;
}

/** The nats-server of a program that was killed outlives it. */
async function endNats(data: string): Promise<void> {
  const pid = await natsPidIn(data);
  if (pid > 0 && (await commandLineOf(pid))?.includes(data) === true) await endProcess(pid, endMsMax);
}
