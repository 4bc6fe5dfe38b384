import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ShardSecret } from "../../../crds/shards/shards.ts";
import { replaceFile } from "../replace-file.ts";

/**
 * Copies of the Secrets on disk, for a start while the API server is down. Each is the Secret as it was read, so that
 * the sha256 in its annotations also detects damage by the disk. Copies hold signing keys: only their owner may read
 * them.
 */
export class ShardCopies {
  private readonly folder: string;
  private readonly prefix: string;
  private readonly writing = new Map<string, Promise<void>>();

  private constructor(folder: string, prefix: string) {
    this.folder = folder;
    this.prefix = prefix;
  }

  /**
   * Opens a folder, making it when it is missing.
   * @param prefix prefix of the installation, since several may share the folder
   * @throws Error when it cannot be made
   */
  static async open(folder: string, prefix: string): Promise<ShardCopies> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new ShardCopies(folder, prefix);
  }

  /** The copy of a shard; undefined when none can be read. */
  async read(name: string): Promise<ShardSecret | undefined> {
    try {
      const secret: unknown = JSON.parse(await readFile(this.pathOf(name), "utf8"));
      return typeof secret === "object" && secret !== null && "metadata" in secret
        ? (secret as ShardSecret)
        : undefined;
    } catch {
      return undefined;
    }
  }

  /** Replaces a copy as a whole, after earlier writes of it. @throws Error when the disk rejects */
  async write(name: string, { metadata: { annotations = {} }, data = {} }: ShardSecret): Promise<void> {
    const text = JSON.stringify({ metadata: { annotations }, data });
    const before = this.writing.get(name) ?? Promise.resolve();
    const writing = before.catch(() => undefined).then(() => replaceFile(this.pathOf(name), text));
    this.writing.set(name, writing);
    await writing;
  }

  /** Resolves when the last write has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.writing.values());
  }

  private pathOf(name: string): string {
    return join(this.folder, `${this.prefix}-${name}.json`);
  }
}
