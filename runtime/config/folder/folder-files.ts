import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FolderFile } from "./folder-objects.ts";
import { readYaml, type SourceProblem } from "../yaml/yaml-documents.ts";

/** A file of the folder, as it was when listed. */
export interface FolderEntry {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  /** Changes when the content may have changed. */
  readonly signature: string;
}

/** Largest file that is read. */
export const fileBytesMax = 2 * 1024 * 1024;
/** Most files of a folder that are read, in the order of their names. */
export const filesMax = 1024;

/**
 * The YAML and JSON files of a folder, sorted by name, without hidden ones and folders. Links are followed, so that a
 * change of a mounted ConfigMap, which swaps a link, is detected.
 * @throws Error when the folder cannot be listed
 */
export async function listFolder(folder: string): Promise<readonly FolderEntry[]> {
  const names = (await readdir(folder)).filter((name) => /^[^.].*\.(?:ya?ml|json)$/u.test(name)).sort();
  const entries = await Promise.all(names.map((name) => entryOf(folder, name)));
  return entries.filter((entry) => entry !== undefined);
}

/**
 * Returns undefined for a folder and for a file that vanished meanwhile. A link without a target and a file that cannot
 * be examined are entries, which cannot be read.
 */
async function entryOf(folder: string, name: string): Promise<FolderEntry | undefined> {
  const path = join(folder, name);
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined)
    return (await isListed(path)) ? { name, path, bytes: 0, signature: "unreadable" } : undefined;
  if (!found.isFile()) return undefined;
  const { dev, ino, size, mtimeNs, ctimeNs } = found;
  return { name, path, bytes: Number(size), signature: [dev, ino, size, mtimeNs, ctimeNs].join(":") };
}

async function isListed(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ENOENT";
  }
}

/** Reads and parses one file. Failures become problems; it never throws. */
export async function readFolderFile({ name, path, bytes }: FolderEntry): Promise<FolderFile> {
  if (bytes > fileBytesMax) return broken(name, "TooLarge", `is larger than ${fileBytesMax} bytes`);
  try {
    return parseFolderFile(name, await readFile(path));
  } catch (error) {
    return broken(name, "Unreadable", error instanceof Error ? error.message : "cannot be read");
  }
}

/** Parses one file. Faults of the text become problems. */
export function parseFolderFile(name: string, bytes: Uint8Array): FolderFile {
  if (bytes.length > fileBytesMax) return broken(name, "TooLarge", `is larger than ${fileBytesMax} bytes`);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // Some editors truncate a file before they write it: an empty file must not remove its objects.
    if (text.trim() === "") return broken(name, "Empty", "is empty");
    return { name, ...readYaml(name, text) };
  } catch (error) {
    if (error instanceof TypeError) return broken(name, "InvalidUtf8", "is not valid UTF-8");
    throw error;
  }
}

function broken(name: string, reason: string, message: string): FolderFile {
  return { name, documents: [], problems: [fileProblem(name, reason, message)] };
}

/** A problem of a file as a whole. */
export function fileProblem(file: string, reason: string, message: string): SourceProblem {
  return { file, line: 1, field: "", reason, message };
}
