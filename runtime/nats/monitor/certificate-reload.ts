import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { readDocument } from "./liveness.ts";

/** The server whose files are followed. */
interface FollowedServer {
  /** Monitoring port, such as `http://127.0.0.1:8222`. */
  readonly monitor: string;
  /** Folder of the mounted Secret. */
  readonly tlsFolder: string;
  /** File of users that the server includes. @default it has none */
  readonly usersFile?: string;
  readonly pidFile: string;
}

/** Makes nats-server load certificates and users that changed on disk. */
export type CertificateReload = ReturnType<typeof createCertificateReload>;

/** Times of a server and its files, Unix milliseconds. */
interface ReloadTimes {
  /** Last change of the files. */
  readonly changedMs: number;
  /** Last load by the server. */
  readonly loadedMs: number;
  /** Last signal; -Infinity before the first. */
  readonly signalledMs: number;
  readonly nowMs: number;
}

/** Kernels stamp files with a clock of some milliseconds. A change this close to a load counts as not loaded. */
const clockSlackMs = 50;
/** The server keeps the loaded certificate when the new one is unusable. It is told again, as the load may be early. */
const repeatMs = 60_000;
const program = "nats-server";

/** Whether the server has to load its files again. */
export function isStale({ changedMs, loadedMs }: Pick<ReloadTimes, "changedMs" | "loadedMs">): boolean {
  return changedMs + clockSlackMs > loadedMs;
}

/** Whether to send a signal now: once for each change, and again each minute until the server has loaded it. */
export function isSignalDue(times: ReloadTimes): boolean {
  const isAnnounced = times.changedMs + clockSlackMs <= times.signalledMs;
  // The clock may have been set back since the last signal.
  const sinceMs = times.nowMs - times.signalledMs;
  return isStale(times) && (!isAnnounced || sinceMs >= repeatMs || sinceMs < 0);
}

/**
 * Compares times of files and server, so that a change is found after a restart of either program. SIGHUP needs no
 * credentials of NATS.
 */
export function createCertificateReload(server: FollowedServer, log: Logger, now: () => number = Date.now) {
  const state = { isPending: false, signalledMs: Number.NEGATIVE_INFINITY, signals: 0 };
  const look = async (): Promise<void> => {
    const [changedMs, loadedMs] = await Promise.all([changeOf(server), loadOf(server.monitor)]);
    const times = { changedMs, loadedMs, signalledMs: state.signalledMs, nowMs: now() };
    if (state.isPending && !isStale(times)) log.info({ tlsFolder: server.tlsFolder }, "certificate and users loaded");
    state.isPending = isStale(times);
    if (!isSignalDue(times)) return;
    const pid = await pidOf(server.pidFile);
    process.kill(pid, "SIGHUP");
    state.signalledMs = times.nowMs;
    state.signals += 1;
    log.info({ serverPid: pid, tlsFolder: server.tlsFolder }, "certificate or users changed, reload requested");
  };
  return {
    /** Compares and signals once. Never rejects. */
    check: () => look().catch((error: unknown) => log.warn({ err: error }, "check of certificate and users failed")),
    /** True while the server has not loaded the newest files. */
    isPending: () => state.isPending,
    /** Signals sent so far. */
    signals: () => state.signals,
  };
}

async function changeOf({ tlsFolder, usersFile }: FollowedServer): Promise<number> {
  const users = usersFile === undefined ? Number.NEGATIVE_INFINITY : (await stat(usersFile)).ctimeMs;
  return Math.max(users, await changeOfFolder(tlsFolder));
}

/** The newest change in a folder. A mounted Secret changes by a link to a new folder, which has a later time. */
async function changeOfFolder(folder: string): Promise<number> {
  const names = await readdir(folder);
  const times = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      return (await (name.startsWith("..") ? lstat(path) : stat(path))).ctimeMs;
    }),
  );
  return Math.max(...times);
}

async function loadOf(monitor: string): Promise<number> {
  const { config_load_time: loaded } = (await readDocument(monitor, "/varz")) as { config_load_time?: string };
  const loadedMs = Date.parse(loaded ?? "");
  if (Number.isNaN(loadedMs)) throw new Error("nats-server reports no config_load_time");
  return loadedMs;
}

/** @throws Error when the process of the file is another program: after a crash its id may be taken again */
async function pidOf(pidFile: string): Promise<number> {
  const pid = Number(await readFile(pidFile, "utf8"));
  const name = (await readFile(`/proc/${pid}/comm`, "utf8")).trim();
  if (name !== program) throw new Error(`process ${pid} of ${pidFile} is ${name}, not ${program}`);
  return pid;
}
