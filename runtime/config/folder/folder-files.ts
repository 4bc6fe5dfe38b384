import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FolderFile } from "./folder-objects.ts";
import { readYaml, type SourceProblem } from "../yaml/yaml-documents.ts";

/** A file that may hold objects, as it was when the folder was listed. */
export interface FolderEntry {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  /** Changes whenever the content may have. */
  readonly signature: string;
}

/** Largest file that is read. */
const fileBytesMax = 2 * 1024 * 1024;
/** Most files of a folder that are read, in the order of their names. */
export const filesMax = 1024;

/**
 * The YAML and JSON files of a folder, sorted by name, without hidden ones and folders. Links are followed, so that a
 * mounted ConfigMap, whose files change by swapping a link, is seen to change.
 * @throws Error when the folder cannot be listed
 */
export async function listFolder(folder: string): Promise<readonly FolderEntry[]> {
  const names = (await readdir(folder)).filter((name) => /^[^.].*\.(?:ya?ml|json)$/u.test(name)).sort();
  const entries = [];
  for (const name of names) entries.push(await entryOf(folder, name));
  return entries.filter((entry) => entry !== undefined);
}

/** Undefined for what is no file, and for what vanished meanwhile. */
async function entryOf(folder: string, name: string): Promise<FolderEntry | undefined> {
  const path = join(folder, name);
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined || !found.isFile()) return undefined;
  const { dev, ino, size, mtimeNs, ctimeNs } = found;
  return { name, path, bytes: Number(size), signature: [dev, ino, size, mtimeNs, ctimeNs].join(":") };
}

/** Reads and parses one file; what cannot be read is its problem, never an error. */
export async function readFolderFile({ name, path, bytes }: FolderEntry): Promise<FolderFile> {
  if (bytes > fileBytesMax) return broken(name, "TooLarge", `is larger than ${fileBytesMax} bytes`);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
    // An editor that truncates before it writes would otherwise seem to have removed every object of the file.
    if (text.trim() === "") return broken(name, "Empty", "is empty");
    return { name, ...readYaml(name, text) };
  } catch (error) {
    if (error instanceof TypeError) return broken(name, "InvalidUtf8", "is not valid UTF-8");
    return broken(name, "Unreadable", error instanceof Error ? error.message : "cannot be read");
  }
}

function broken(name: string, reason: string, message: string): FolderFile {
  return { name, documents: [], problems: [fileProblem(name, reason, message)] };
}

/** A problem of a file as a whole. */
export function fileProblem(file: string, reason: string, message: string): SourceProblem {
  return { file, line: 1, field: "", reason, message };
}
