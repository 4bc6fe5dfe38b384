import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type { Resource } from "../../crds/resource.ts";
import { listFolder, readFolderFile } from "../../runtime/config/folder/folder-files.ts";
import { noObjects, readObjects } from "../../runtime/config/folder/folder-objects.ts";
import type { FolderFile, FolderObjects } from "../../runtime/config/folder/folder-objects.ts";
import type { SourceProblem } from "../../runtime/config/yaml/yaml-documents.ts";
import { StartError, startStep } from "../../runtime/program/start-error.ts";
import { readInputFile, standardInput } from "./read-configuration.ts";

/** The resources of a place as `run` applies them, and the problems of the others. */
export interface ReadResources {
  readonly objects: FolderObjects;
  readonly resources: readonly Resource[];
  readonly problems: readonly SourceProblem[];
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
  return new StartError("folder", `${place} has problems; \`heliograph validate ${place}\` prints each`);
}

async function filesOf(place: string): Promise<readonly FolderFile[]> {
  if (place === standardInput) return [await readInputFile(process.stdin)];
  const found = await stat(place);
  const file = { name: basename(place), path: place, bytes: found.size, signature: "" };
  return Promise.all((found.isDirectory() ? await listFolder(place) : [file]).map(readFolderFile));
}
