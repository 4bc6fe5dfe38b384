import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** The right to use a data folder, held by one process. */
export interface DataLock {
  release(): void;
}

const lockFileName = "lock.sqlite";

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
