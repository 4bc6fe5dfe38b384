// Commands on files of configuration. They reach no server.
import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import { allowAll } from "../../crds/policy.ts";
import { fileBytesMax, parseFolderFile, readFolderFile } from "../../runtime/config/folder/folder-files.ts";
import type { FolderFile } from "../../runtime/config/folder/folder-objects.ts";
import { readFolder } from "../../runtime/config/folder/folder-source.ts";
import { compileFiles, type FolderState } from "../../runtime/config/folder/folder-state.ts";
import type { SourceProblem } from "../../runtime/config/yaml/yaml-documents.ts";
import { startStep } from "../../runtime/program/start-error.ts";

/** Configuration that a command line named, compiled with every right granted. */
export type Configuration = Pick<FolderState, "config" | "hash" | "problems" | "warnings">;

/** The operand that means the standard input. */
export const standardInput = "-";

/**
 * Reads a folder as `run` does, one file, or the standard input for `-`. Problems name files as the user can open them.
 * @throws StartError `folder` when there is nothing to read
 */
export async function readConfiguration(place: string, input: Readable = process.stdin): Promise<Configuration> {
  const read = () => (place === standardInput ? readInput(input) : readPlace(place));
  return startStep("folder", `the configuration ${place} cannot be read`, read);
}

async function readInput(input: Readable): Promise<Configuration> {
  return compileFiles([await readInputFile(input)], allowAll);
}

/** Parses the standard input as one file. */
export async function readInputFile(input: Readable): Promise<FolderFile> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of input as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > fileBytesMax) break;
  }
  return parseFolderFile("stdin", Buffer.concat(parts));
}

async function readPlace(place: string): Promise<Configuration> {
  const found = await stat(place);
  if (found.isDirectory()) {
    const state = await readFolder(place, allowAll);
    return withPaths(state, (file) => (file === place ? place : join(place, file)));
  }
  const entry = { name: basename(place), path: place, bytes: found.size, signature: "" };
  return withPaths(compileFiles([await readFolderFile(entry)], allowAll), () => place);
}

function withPaths(state: FolderState, pathOf: (file: string) => string): Configuration {
  const placed = (problem: SourceProblem): SourceProblem => ({ ...problem, file: pathOf(problem.file) });
  return { ...state, problems: state.problems.map(placed), warnings: state.warnings.map(placed) };
}
