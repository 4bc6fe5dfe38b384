import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of one's own below the system's temporary folder. */
export interface TemporaryFolder {
  readonly path: string;
  /** Removes the folder with all it holds; a second call does nothing. */
  remove(): Promise<void>;
}

/** Makes an empty folder whose name starts with `heliograph-` and the prefix. */
export async function temporaryFolder(prefix: string): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), `heliograph-${prefix}-`));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }) };
}
