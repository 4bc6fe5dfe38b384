// A nats-server as a child process. Its clients are in `nats/connection/`.
import { spawn } from "node:child_process";
import { readdir, readFile, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { BaseLogger } from "pino";
import {
  childFiles,
  childUser,
  makeFolder,
  readState,
  writeConfig,
  writeState,
  type ChildFiles,
  type ChildState,
  serverHealth,
} from "./child-files.ts";
import { connectNats } from "../connection/connect.ts";
import type { NatsAccess } from "../connection/nats-access.ts";
import { createStoreFiles, missingText, type StoreFiles } from "../store/store-files.ts";
import { lockFolder, type FolderLock, commandLineOf, endProcess, isRunning } from "./running-process.ts";
import { findNatsServer, type SearchEnvironment } from "./find-programs.ts";

/** Options of a nats-server as a child process. */
export interface ChildServerOptions {
  /** Holds all files of the server. One process at a time may use it. */
  readonly dataFolder: string;
  readonly log: Pick<BaseLogger, "info" | "warn" | "error">;
  /** Environment of the search for the program. @default the environment of this process */
  readonly environment?: SearchEnvironment;
}

/** A nats-server with JetStream on the loopback interface. It starts and ends with this process. */
export interface ChildServer {
  readonly access: NatsAccess;
  /** The running server; changes at a restart. */
  readonly pid: number;
  /** Ends the server and releases the folder. */
  stop(): Promise<void>;
}

/** Reading a large store takes long. */
const readyTimeoutMs = 120_000;
const readyPollMs = 10;
const adoptTimeoutMs = 5_000;
const stopTimeoutMs = 20_000;
const watchMs = 500;
const healthMs = 2_000;
const restartPauseFirstMs = 100;
const restartPauseMaxMs = 10_000;
/** A server that ran this long has started successfully. */
const steadyMs = 60_000;
/** With less free space, a restarted server would fail again at once. */
const freeBytesMin = 16 * 1024 * 1024;
/** Shortest time between two restarts because of a reported fault. */
const faultRestartMs = 5_000;

/**
 * Starts the server, or adopts one that a killed process left behind. Restarts it when it ends, and when it reports a
 * write error, the disk has room and no file of a stream is gone.
 * @throws Error with one sentence for the operator: program not found or too old, folder in use, server does not start
 */
export async function startChildServer(options: ChildServerOptions): Promise<ChildServer> {
  const files = childFiles(options.dataFolder);
  await makeFolder(files);
  const lock = await lockFolder(files.lock, `The data folder ${options.dataFolder}`);
  try {
    const state = await adoptOrStart(options, files);
    return new SupervisedServer(options, files, state, lock);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function adoptOrStart(options: ChildServerOptions, files: ChildFiles): Promise<ChildState> {
  const state = await readState(files);
  if (await isOurs(state.pid, files)) {
    if (await responds(state, adoptTimeoutMs)) {
      options.log.info({ pid: state.pid, port: state.port }, "running nats-server adopted");
      return state;
    }
    await endProcess(state.pid, stopTimeoutMs);
  }
  try {
    return await launch(options, files, state);
  } catch (error) {
    if (state.port === 0) throw error;
    // Another program may have taken the port while no server ran.
    options.log.warn({ err: error, port: state.port }, "nats-server failed to start on its port, another port chosen");
    return launch(options, files, { ...state, port: 0 });
  }
}

/** True for a server that was started with this configuration file. */
async function isOurs(pid: number, { config }: ChildFiles): Promise<boolean> {
  return pid > 0 && ((await commandLineOf(pid))?.includes(config) ?? false);
}

/**
 * Finds the program and starts a server. Its process id is stored at once, so that it can be adopted after a crash. An
 * adopted server needs no search, which runs the program once to ask for its version.
 */
async function launch(
  { environment = process.env }: ChildServerOptions,
  files: ChildFiles,
  state: ChildState,
): Promise<ChildState> {
  const program = await findNatsServer(environment);
  await removePortsFiles(files);
  await writeConfig(files, state);
  // The server gets its own session: Ctrl-C must reach only this process, which then ends the server in order.
  const child = spawn(program, ["-c", files.config], { detached: true, stdio: "ignore" });
  await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  child.unref();
  const started = { ...state, pid: child.pid ?? 0 };
  await writeState(files, started);
  const ready = { ...started, port: await untilListening(files, started.pid) };
  await writeState(files, ready);
  if (!(await responds(ready, readyTimeoutMs))) {
    await endProcess(ready.pid, stopTimeoutMs);
    throw new Error(`nats-server did not respond within ${readyTimeoutMs / 1_000} s; see ${files.log}`);
  }
  return ready;
}

async function removePortsFiles({ folder }: ChildFiles): Promise<void> {
  const names = await readdir(folder);
  await Promise.all(
    names.filter((name) => name.endsWith(".ports")).map((name) => rm(join(folder, name), { force: true })),
  );
}

/** Waits until the server listens. It then writes the chosen port to a file. */
async function untilListening({ folder, log }: ChildFiles, pid: number): Promise<number> {
  const path = join(folder, `nats-server_${pid}.ports`);
  const deadlineMs = performance.now() + readyTimeoutMs;
  while (performance.now() < deadlineMs) {
    // The file may be absent, or empty while the server writes it.
    const port = await readFile(path, "utf8")
      .then(portOf)
      .catch(() => 0);
    if (port > 0) return port;
    if (!isRunning(pid)) throw new Error(`nats-server ended while it started; see ${log}`);
    await sleep(readyPollMs);
  }
  await endProcess(pid, stopTimeoutMs);
  throw new Error(`nats-server did not start within ${readyTimeoutMs / 1_000} s; see ${log}`);
}

function portOf(text: string): number {
  const { nats } = JSON.parse(text) as { readonly nats?: readonly string[] };
  return Number(URL.parse(nats?.[0] ?? "")?.port ?? 0);
}

async function responds(state: ChildState, timeoutMs: number): Promise<boolean> {
  try {
    const handle = await connectNats({ ...accessOf(state), firstConnectionTimeoutMs: timeoutMs });
    await handle.drain();
    return true;
  } catch {
    return false;
  }
}

function accessOf({ port, password }: ChildState): NatsAccess {
  return { servers: [`nats://127.0.0.1:${port}`], user: childUser.events, password };
}

class SupervisedServer implements ChildServer {
  readonly access: NatsAccess;
  readonly #options: ChildServerOptions;
  readonly #files: ChildFiles;
  readonly #lock: FolderLock;
  readonly #stopping = new AbortController();
  readonly #watching: Promise<void>;
  #state: ChildState;
  #failures = 0;
  #startedAtMs = performance.now();
  #checkedAtMs = 0;
  #jsz: unknown;
  readonly #streamFiles: StoreFiles;

  constructor(options: ChildServerOptions, files: ChildFiles, state: ChildState, lock: FolderLock) {
    this.#options = options;
    this.#files = files;
    this.#state = state;
    this.#lock = lock;
    this.access = accessOf(state);
    this.#streamFiles = createStoreFiles({
      read: async () => this.#jsz,
      dataFolder: files.store,
      onChange: (streams) => streams.length > 0 && options.log.error({ streams }, missingText(streams)),
    });
    this.#watching = this.#watch();
  }

  get pid(): number {
    return this.#state.pid;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#watching;
    await endProcess(this.#state.pid, stopTimeoutMs);
    await this.#lock.release();
  }

  /** Polls the server. An adopted server is not a child process, so its end causes no signal. */
  async #watch(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        await sleep(watchMs, undefined, { signal: this.#stopping.signal, ref: false });
        await this.#poll();
      } catch (error) {
        if (!this.#stopping.signal.aborted) this.#options.log.error({ err: error }, "nats-server restart failed");
      }
    }
  }

  async #poll(): Promise<void> {
    if (!isRunning(this.#state.pid)) {
      await this.#restart("it ended");
      return;
    }
    const nowMs = performance.now();
    if (nowMs - this.#checkedAtMs < healthMs) return;
    this.#checkedAtMs = nowMs;
    const { pid, port, systemPassword } = this.#state;
    // A server that is too busy to answer in time is not faulty.
    const health = await serverHealth(port, childUser.system, systemPassword).catch(() => undefined);
    if (health === undefined) return;
    this.#jsz = health.jsz;
    const { fault } = health;
    await this.#streamFiles.check();
    if (fault === undefined || !(await this.#hasFiles())) return;
    if (nowMs - this.#startedAtMs > faultRestartMs && (await this.#hasFreeSpace())) {
      await endProcess(pid, stopTimeoutMs);
      await this.#restart(fault);
    }
  }

  /** False while files of streams are gone. A restart loses what the server still has open. */
  async #hasFiles(): Promise<boolean> {
    // A second look, which is believed.
    await this.#streamFiles.check();
    return this.#streamFiles.missing()?.length === 0;
  }

  async #hasFreeSpace(): Promise<boolean> {
    const { bavail, bsize } = await statfs(this.#files.folder);
    return bavail * bsize >= freeBytesMin;
  }

  async #restart(reason: string): Promise<void> {
    const wasSteady = performance.now() - this.#startedAtMs > steadyMs;
    this.#failures = wasSteady ? 0 : this.#failures + 1;
    const pauseMs = Math.min(restartPauseFirstMs * 2 ** this.#failures, restartPauseMaxMs);
    this.#options.log.warn({ reason, pauseMs }, "nats-server restarted");
    await sleep(pauseMs, undefined, { signal: this.#stopping.signal, ref: false });
    this.#startedAtMs = performance.now();
    // The port stays the same because connections dial it again.
    this.#state = await launch(this.#options, this.#files, this.#state);
  }
}
