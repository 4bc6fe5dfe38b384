import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { uidOf } from "../../../crds/compile/origin.ts";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { type ConfigPart, partsOf } from "../../../crds/part.ts";
import type { Resource } from "../../../crds/resource.ts";
import { replaceFile } from "../replace-file.ts";
import { noObjects, type FolderObject, type FolderObjects } from "./folder-objects.ts";
import type { SecretEntries } from "./secret-manifest.ts";

/** What a folder had in force: the objects, and the parts that were made from them. */
export interface InForce {
  readonly objects: FolderObjects;
  /** By the uid of their resource. Catalogs of event types are among them after their deletion too. */
  readonly parts: ReadonlyMap<string, ConfigPart>;
}

/** Layout of the record. A record of another layout is not read. */
const layout = 1;

/** The stored form. It holds the bytes of Secrets, so only the owner of the file may read it. */
interface FolderRecord {
  readonly layout: typeof layout;
  readonly objects: readonly {
    readonly key: string;
    readonly file: string;
    readonly resource?: Resource;
    readonly secret?: SecretEntries;
  }[];
  readonly config: Pick<RuntimeConfig, "partners" | "catalogs" | "quotas" | "eventCatalogs" | "material">;
}

const fileName = "last-good.json";
/** Items whose text is made at once: less than a millisecond for partners. */
const pieceItems = 100;

/** The file in which a program keeps what its folder had in force, so that a restart does not forget it. */
export class FolderRecordFile {
  readonly path: string;
  private written: string | undefined;

  /** @param dataFolder the folder of the file */
  constructor(dataFolder: string) {
    this.path = join(dataFolder, fileName);
  }

  /** Returns undefined without a record. @throws Error when there is one that cannot be read */
  async read(): Promise<InForce | undefined> {
    const text = await readFile(this.path, "utf8").catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    });
    return text === undefined ? undefined : parseRecord(text);
  }

  /** Replaces the record, unless it would be the same. @throws Error when it cannot be written */
  async write(objects: FolderObjects["objects"], config: RuntimeConfig): Promise<void> {
    const digest = createHash("sha256");
    let written: string | undefined;
    // A piece at a time: requests and deliveries go on meanwhile, and a large record is never in memory.
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      for (const piece of recordOf(objects, config)) {
        const bytes = Buffer.from(piece);
        digest.update(bytes);
        yield bytes;
        await setImmediate();
      }
      written = digest.digest("hex");
    };
    await replaceFile(this.path, pieces(), () => written !== this.written);
    this.written = written;
  }
}

/** The text of a {@link FolderRecord} in pieces. */
function* recordOf(objects: FolderObjects["objects"], config: RuntimeConfig): Iterable<string> {
  const { catalogs, quotas, eventCatalogs, partners, material } = config;
  yield `{"layout":${layout},"objects":[`;
  const recorded = [...objects].map(([key, { file, resource, secret }]) => ({ key, file, resource, secret }));
  yield* listed(recorded);
  yield '],"config":{"partners":[';
  yield* listed(partners);
  yield `],${JSON.stringify({ catalogs, quotas, eventCatalogs }).slice(1, -1)},"material":{`;
  yield* inPieces(Object.entries(material), ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  yield "}}}";
}

function listed(items: readonly unknown[]): Iterable<string> {
  return inPieces(items, (item) => JSON.stringify(item));
}

function* inPieces<Item>(items: readonly Item[], textOf: (item: Item) => string): Iterable<string> {
  for (let done = 0; done < items.length; done += pieceItems) {
    const some = items.slice(done, done + pieceItems).map(textOf);
    yield `${done === 0 ? "" : ","}${some.join(",")}`;
  }
}

/** @throws Error for text that no version with this layout wrote */
function parseRecord(text: string): InForce {
  const record = JSON.parse(text) as Omit<FolderRecord, "layout"> & { readonly layout: unknown };
  if (record.layout !== layout) throw new Error(`it has layout ${String(record.layout)}, not ${layout}`);
  const objects = record.objects.map(({ key, ...object }): [string, FolderObject] => [
    key,
    { ...object, lineOf: () => 1 },
  ]);
  const parts = partsOf(record.config as RuntimeConfig);
  const uids = new Set(objects.flatMap(([, { resource }]) => (resource === undefined ? [] : uidOf(resource))));
  return {
    objects: { ...noObjects, objects: new Map(objects) },
    parts: new Map([...parts].filter(([uid, { kind }]) => kind === "EventCatalog" || uids.has(uid))),
  };
}
