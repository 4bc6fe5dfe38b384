// The files of a server's streams on its volume. It reads no file and changes none; it connects to no server.

import { access } from "node:fs/promises";
import { join } from "node:path";

/** Watches the files of a server's streams, which somebody may delete while the server has them open. */
export type StoreFiles = ReturnType<typeof createStoreFiles>;

interface StoreFilesDeps {
  /** Reads `/jsz?streams=true&config=true`. @throws Error when the server does not respond */
  readonly read: () => Promise<unknown>;
  /** Folder on the volume of JetStream (`store_dir`). */
  readonly dataFolder: string;
  /** Receives the missing streams when they change. */
  readonly onChange: (missing: readonly string[]) => void;
}

/** Folder that nats-server creates in its `store_dir`. */
const storeFolder = "jetstream";
/** Every stream in files has these. A new stream or consumer makes folders again, but not those of other streams. */
const streamFiles = ["meta.inf", "msgs"] as const;
const goneCodes: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR"]);
const namesMax = 3;

/** Names of members, from the outside in. */
export type Path = readonly string[];

/** Creates the watch of a server whose files are there so far. */
export function createStoreFiles({ read, dataFolder, onChange }: StoreFilesDeps) {
  let seen: readonly string[] = [];
  let missing: readonly string[] | undefined;
  const look = async (): Promise<readonly string[] | undefined> => {
    try {
      return await missingStreams(await read(), dataFolder);
    } catch {
      return undefined;
    }
  };
  return {
    /** Looks once. Never rejects. */
    check: async () => {
      const found = await look();
      if (found === undefined) return;
      // A stream may be listed that is being created or deleted.
      const next = found.filter((name) => seen.includes(name));
      seen = found;
      if (next.join() !== (missing ?? []).join()) onChange(next);
      missing = next;
    },
    /** Streams whose files two looks in a row did not find; undefined before. A failed look changes nothing. */
    missing: () => missing,
  };
}

/** Streams of a server, as its `/jsz` lists them, without their files. @throws Error when the volume cannot be read */
export async function missingStreams(jsz: unknown, dataFolder: string): Promise<readonly string[]> {
  const streams = listAt(jsz, ["account_details"]).flatMap((account) =>
    listAt(account, ["stream_detail"])
      .filter((stream) => valueAt(stream, ["config", "storage"]) === "file")
      .map((stream) => {
        const name = textAt(stream, ["name"]);
        return { name, folder: join(dataFolder, storeFolder, textAt(account, ["id"]), "streams", name) };
      }),
  );
  const gone = await Promise.all(
    streams.map(async ({ name, folder }) => {
      const found = await Promise.all(streamFiles.map((file) => isGone(join(folder, file))));
      return found.includes(true) ? [name] : [];
    }),
  );
  return gone.flat().toSorted();
}

/** What the loss of the files means. */
export function missingText(streams: readonly string[]): string {
  const more = streams.length > namesMax ? ` and ${streams.length - namesMax} more` : "";
  const names = streams.slice(0, namesMax).join(", ") + more;
  return (
    `the files of ${names} are gone from the volume. nats-server works on with the files that it has open, and a ` +
    "restart loses everything in them: do not restart it before the streams are copied"
  );
}

async function isGone(file: string): Promise<boolean> {
  try {
    await access(file);
    return false;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (goneCodes.has(code)) return true;
    throw error;
  }
}

/** A member of a document of the monitoring port; undefined when it has none. */
export function valueAt(document: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined),
    document,
  );
}

/** A list; empty for anything else. */
export function listAt(document: unknown, path: Path): readonly unknown[] {
  const value = valueAt(document, path);
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** A text; empty for anything else. */
export function textAt(document: unknown, path: Path): string {
  const value = valueAt(document, path);
  return typeof value === "string" ? value : "";
}
