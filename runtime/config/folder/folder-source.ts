// Configuration from a folder of files. It reads no cluster.
import { setTimeout as sleep } from "node:timers/promises";
import { ContentHash } from "../../../crds/compile/canonical-json.ts";
import { createCompiler } from "../../../crds/compile/compile.ts";
import { uidOf } from "../../../crds/compile/origin.ts";
import { type ConfigPart, eventCatalogsOf, partsOf } from "../../../crds/part.ts";
import { type Before, lastGoodMsDefault } from "../../../crds/compile/last-good.ts";
import { WaitingSince } from "../../../crds/compile/waiting-since.ts";
import type { PartnerConfig } from "../../../crds/config.ts";
import type { InstallationPolicy } from "../../../crds/policy.ts";
import type { ConfigSource } from "../config-source.ts";
import type { SourceProblem } from "../yaml/yaml-documents.ts";
import { fileProblem, filesMax, listFolder, readFolderFile, type FolderEntry } from "./folder-files.ts";
import { noObjects, readObjects, type FolderFile, type FolderObjects } from "./folder-objects.ts";
import type { FolderRecordFile } from "./folder-record.ts";
import { stateOf, type FolderState } from "./folder-state.ts";

interface FolderOptions {
  readonly policy: InstallationPolicy;
  /** Where it keeps what is in force for the next start. @default a restart forgets it */
  readonly record?: FolderRecordFile;
  /** Time between two polls. @default 200 */
  readonly pollMs?: number;
  /** A changed folder must stay unchanged for this time before it is read, so that writes are complete. @default 50 */
  readonly settleMs?: number;
  /** Longest use of a last good version while a Secret cannot be read. @default seven days */
  readonly lastGoodMs?: number;
  /** Unix milliseconds. @default the machine's clock */
  readonly now?: () => number;
}

const pollMsDefault = 200;
const settleMsDefault = 50;
/** A folder that changes all the time is read after this number of polls. */
const settlePollsMax = 8;
const readsAtOnceMax = 32;

/**
 * Configuration from a folder of YAML files: the four kinds and their Secrets. It polls for changes, which also works
 * without change notifications (mounted ConfigMaps, network file systems).
 */
export class FolderSource implements ConfigSource<FolderState> {
  private readonly reader: FolderReader;
  private readonly pollMs: number;
  private readonly settleMs: number;
  private readonly listeners = new Set<(state: FolderState) => void>();
  private readonly stopping = new AbortController();
  private state: FolderState;
  private watching: Promise<void> = Promise.resolve();

  private constructor(reader: FolderReader, state: FolderState, { pollMs, settleMs }: FolderOptions) {
    this.reader = reader;
    this.state = state;
    this.pollMs = pollMs ?? pollMsDefault;
    this.settleMs = settleMs ?? settleMsDefault;
  }

  /** Reads the folder and watches it. @throws Error when it cannot be listed */
  static async open(folder: string, options: FolderOptions): Promise<FolderSource> {
    const reader = new FolderReader(folder, options);
    await reader.recall();
    const source = new FolderSource(reader, await reader.read(await listFolder(folder)), options);
    source.watching = source.watch(folder);
    return source;
  }

  current(): FolderState {
    return this.state;
  }

  onChange(listener: (state: FolderState) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Stops watching; resolves when all work has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.watching;
  }

  private async watch(folder: string): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await sleep(this.pollMs, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) this.accept(await this.poll(folder));
    }
  }

  /** Undefined when nothing changed. */
  private async poll(folder: string): Promise<FolderState | undefined> {
    try {
      const entries = await this.settled(folder);
      if (!this.reader.knows(entries)) return await this.reader.read(entries);
      return this.reader.isDue() ? await this.reader.compile() : undefined;
    } catch (error) {
      // The state stays in force, and the next poll reads the folder again.
      this.reader.forget();
      const message = error instanceof Error ? error.message : "cannot be listed";
      return { ...this.state, problems: [fileProblem(folder, "Unreadable", message)] };
    }
  }

  private async settled(folder: string): Promise<readonly FolderEntry[]> {
    let entries = await listFolder(folder);
    for (let polls = 1; polls < settlePollsMax && !this.reader.knows(entries); polls += 1) {
      await sleep(this.settleMs);
      const before = signatureOf(entries);
      entries = await listFolder(folder);
      if (signatureOf(entries) === before) break;
    }
    return entries;
  }

  private accept(state: FolderState | undefined): void {
    if (state === undefined) return;
    if (isSame(state, this.state)) {
      this.state = { ...this.state, files: state.files };
      return;
    }
    this.state = state;
    for (const listener of this.listeners) listener(state);
  }
}

/** Reads a folder once, without watching. @throws Error when it cannot be listed */
export async function readFolder(folder: string, policy: InstallationPolicy): Promise<FolderState> {
  return new FolderReader(folder, { policy }).read(await listFolder(folder));
}

interface KnownFile {
  readonly signature: string;
  readonly file: FolderFile;
}

/** Remembers what the folder held, so that only changed files are read again and broken ones change nothing. */
class FolderReader {
  private readonly folder: string;
  private readonly options: FolderOptions;
  private files = new Map<string, KnownFile>();
  private objects: FolderObjects = noObjects;
  private signature: string | undefined;
  private hasTooMany = false;
  private parts: ReadonlyMap<string, ConfigPart> = new Map();
  /** Unix milliseconds at which time alone makes something else of what is in force. */
  private againMs = Number.POSITIVE_INFINITY;
  private readonly waitingSince = new WaitingSince();
  private readonly compiling = { compile: createCompiler(), hashes: new ContentHash() };
  /** A fault of the record at the start. */
  private recordProblem: SourceProblem | undefined;

  constructor(folder: string, options: FolderOptions) {
    this.folder = folder;
    this.options = options;
  }

  /** Takes what was in force when the program ended. An unreadable record is reported until the next start. */
  async recall(): Promise<void> {
    const { record } = this.options;
    try {
      const last = await record?.read();
      if (last !== undefined) ({ objects: this.objects, parts: this.parts } = last);
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      const message = `the last good version cannot be read: ${cause}`;
      this.recordProblem = fileProblem(record?.path ?? "", "Unreadable", message);
    }
  }

  knows(entries: readonly FolderEntry[]): boolean {
    return signatureOf(entries) === this.signature;
  }

  async read(entries: readonly FolderEntry[]): Promise<FolderState> {
    const files = new Map<string, KnownFile>();
    for (let done = 0; done < Math.min(entries.length, filesMax); done += readsAtOnceMax) {
      const some = entries.slice(done, Math.min(done + readsAtOnceMax, filesMax));
      for (const [name, file] of await Promise.all(some.map((entry) => this.readEntry(entry)))) files.set(name, file);
    }
    this.files = files;
    this.signature = signatureOf(entries);
    const present = [...files.values()].map(({ file }) => file);
    this.objects = readObjects(present, this.objects);
    this.hasTooMany = entries.length > filesMax;
    return this.compile();
  }

  private async readEntry(entry: FolderEntry): Promise<readonly [name: string, KnownFile]> {
    const { name, signature } = entry;
    const known = this.files.get(name);
    return [name, known?.signature === signature ? known : { signature, file: await readFolderFile(entry) }];
  }

  /** Compiles the files of the last read with the present time, and records the result. */
  async compile(): Promise<FolderState> {
    const { policy, lastGoodMs = lastGoodMsDefault } = this.options;
    const before: Before = {
      partOf: (resource) => this.parts.get(uidOf(resource)),
      eventCatalogs: () => eventCatalogsOf([...this.parts.values()]),
      nowMs: this.nowMs(),
      lastGoodMs,
      mayForget: true,
    };
    const tooMany = fileProblem(this.folder, "TooLarge", `holds more than ${filesMax} files; the others are not read`);
    const compilation = { policy, before, ...this.compiling };
    const { state: compiled, againMs } = stateOf(this.objects, compilation, this.hasTooMany ? [tooMany] : []);
    const state = { ...compiled, config: this.waitingSince.note(compiled.config, this.lastOf, before.nowMs) };
    this.parts = partsOf(state.config);
    this.againMs = againMs;
    const problems = [this.recordProblem, await this.keep(state)].flatMap((problem) => problem ?? []);
    return { ...state, problems: [...state.problems, ...problems] };
  }

  private readonly lastOf = ({ uid }: PartnerConfig): PartnerConfig | undefined => {
    const part = this.parts.get(uid);
    return part?.kind === "WebhookPartner" ? part.config : undefined;
  };

  /** Writes the record; returns the problem when that fails. */
  private async keep({ config }: FolderState): Promise<SourceProblem | undefined> {
    const { record } = this.options;
    try {
      await record?.write(this.objects.objects, config);
      return undefined;
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      return fileProblem(record?.path ?? "", "NotWritable", `the last good version cannot be stored: ${cause}`);
    }
  }

  /** Returns true when time alone requires another compilation. */
  isDue(): boolean {
    return this.nowMs() >= this.againMs;
  }

  private nowMs = (): number => (this.options.now ?? Date.now)();

  forget(): void {
    this.signature = undefined;
  }
}

function signatureOf(entries: readonly FolderEntry[]): string {
  return entries.map(({ name, signature }) => `${name}:${signature}`).join("\n");
}

function isSame(one: FolderState, other: FolderState): boolean {
  const [shown, known] = [one, other].map(({ hash, problems, kept }) => JSON.stringify([hash, problems, kept]));
  return shown === known;
}
