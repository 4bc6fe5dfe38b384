import { createHash } from "node:crypto";
import { mkdir, realpath } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Logger } from "pino";
import { childAccess } from "../nats/child/child-files.ts";
import { startChildServer } from "../nats/child/child-server.ts";
import type { NatsAccess } from "../nats/connection/nats-access.ts";
import type { Shutdown } from "./shutdown.ts";
import { StartError, startStep } from "./start-error.ts";

/** The right to use a data folder, held by one process. */
interface DataLock {
  release(): void;
}

const lockFileName = "lock.sqlite";

/** Locks the data folder for this program. @throws StartError `data`, `locked` */
export async function holdDataFolder(folder: string, shutdown: Shutdown): Promise<void> {
  const lock = await startStep("data", `the data folder ${folder} cannot be used`, () => lockDataFolder(folder));
  if (lock === undefined) throw new StartError("locked", `the data folder ${folder} is in use by another program`);
  shutdown.add("data folder", () => lock.release());
}

/** An id that is the same for every run on one data folder. */
export async function dataFolderId(folder: string): Promise<string> {
  const place = `${hostname()}:${await realpath(folder)}`;
  return createHash("sha256").update(place).digest("hex").slice(0, 16);
}

interface EmbeddedNatsOptions {
  readonly dataFolder: string;
  /** The nats-server program. @default the first on PATH */
  readonly natsServer?: string;
  readonly log: Logger;
}

/** Starts an own nats-server in the data folder. @throws StartError `nats_server` */
export async function startEmbeddedNats(
  { dataFolder, natsServer, log }: EmbeddedNatsOptions,
  shutdown: Shutdown,
): Promise<NatsAccess> {
  const environment = natsServer === undefined ? process.env : { HELIOGRAPH_NATS_SERVER: natsServer };
  const start = () => startChildServer({ dataFolder, log, environment });
  const child = await startStep("nats_server", "the nats-server cannot be started", start);
  shutdown.add("nats-server", () => child.stop());
  return child.access;
}

/** The same access; as the user of the data folder's own nats-server when it names that server without a user. */
export async function withOwnUser(nats: NatsAccess, dataFolder: string): Promise<NatsAccess> {
  if (nats.user !== undefined || nats.token !== undefined) return nats;
  return (await childAccess(dataFolder, nats.servers)) ?? nats;
}

/**
 * Locks a data folder and creates it when it is missing. The lock is SQLite's exclusive file lock. The kernel releases
 * it when its holder ends, so no stale lock remains.
 * @returns undefined when another process holds the lock
 * @throws Error when the folder cannot be written
 */
export async function lockDataFolder(folder: string): Promise<DataLock | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(join(folder, lockFileName), { timeout: 0 });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}

/** SQLITE_BUSY and SQLITE_LOCKED. */
function isBusy(error: unknown): boolean {
  const { errcode } = error as { readonly errcode?: unknown };
  return errcode === 5 || errcode === 6;
}
