// Commands on files of configuration. They reach no server.

import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import { allowAll } from "../../crds/policy.ts";
import type { Resource } from "../../crds/resource.ts";
import { fileBytesMax, listFolder, parseFolderFile, readFolderFile } from "../../runtime/config/folder/folder-files.ts";
import {
  type FolderFile,
  type FolderObjects,
  noObjects,
  readObjects,
} from "../../runtime/config/folder/folder-objects.ts";
import { readFolder } from "../../runtime/config/folder/folder-source.ts";
import { compileFiles, type FolderState } from "../../runtime/config/folder/folder-state.ts";
import type { SourceProblem } from "../../runtime/config/yaml/yaml-documents.ts";
import { StartError, startStep } from "../../runtime/program/start-error.ts";

/** Configuration that a command line named, compiled with every right granted. */
export type Configuration = Pick<FolderState, "config" | "hash" | "problems" | "warnings">;

/** The operand that means the standard input. */
export const standardInput = "-";

/** The resources of a place as `run` applies them, and the problems of the others. */
export interface ReadResources {
  readonly objects: FolderObjects;
  readonly resources: readonly Resource[];
  readonly problems: readonly SourceProblem[];
}

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
async function readInputFile(input: Readable): Promise<FolderFile> {
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

/**
 * Reads the valid resources of a folder, a file or the standard input (`-`). Secrets are not read.
 * @throws StartError `folder` if there is nothing to read, or an object is not valid
 */
export async function readResources(place: string): Promise<readonly Resource[]> {
  const { resources, problems } = await readValidResources(place);
  if (problems.length > 0) throw withProblems(place);
  return resources;
}

/**
 * The same, but an invalid object keeps its resource of `previous` or is left out, as after an edit of the folder of
 * `run`.
 * @throws StartError `folder` if there is nothing to read
 */
export async function readValidResources(place: string, previous = noObjects): Promise<ReadResources> {
  const read = async () => readObjects(await filesOf(place), previous);
  const objects = await startStep("folder", `the configuration ${place} cannot be read`, read);
  const resources = [...objects.objects.values()].flatMap(({ resource }) => resource ?? []);
  return { objects, resources, problems: objects.problems };
}

export function withProblems(place: string): StartError {
  return new StartError("folder", `${place} has problems; \`heliograph validate ${place}\` lists them`);
}

async function filesOf(place: string): Promise<readonly FolderFile[]> {
  if (place === standardInput) return [await readInputFile(process.stdin)];
  const found = await stat(place);
  const file = { name: basename(place), path: place, bytes: found.size, signature: "" };
  return Promise.all((found.isDirectory() ? await listFolder(place) : [file]).map(readFolderFile));
}
