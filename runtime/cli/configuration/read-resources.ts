import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type { Resource } from "../../../crds/resource.ts";
import { listFolder, readFolderFile } from "../../config/folder/folder-files.ts";
import { noObjects, readObjects } from "../../config/folder/folder-objects.ts";
import type { FolderFile } from "../../config/folder/folder-objects.ts";
import { StartError, startStep } from "../../program/start-error.ts";
import { readInputFile, standardInput } from "./read-configuration.ts";

/**
 * The valid resources of a folder, a file or the standard input (`-`). Secrets are not read.
 * @throws StartError `folder` when there is nothing to read, or an object is not valid
 */
export async function readResources(place: string): Promise<readonly Resource[]> {
  const read = async () => readObjects(await filesOf(place), noObjects);
  const { objects, problems } = await startStep("folder", `the configuration ${place} cannot be read`, read);
  if (problems.length > 0) {
    throw new StartError("folder", `${place} has problems; \`heliograph validate ${place}\` prints each`);
  }
  return [...objects.values()].flatMap(({ resource }) => resource ?? []);
}

async function filesOf(place: string): Promise<readonly FolderFile[]> {
  if (place === standardInput) return [await readInputFile(process.stdin)];
  const found = await stat(place);
  const file = { name: basename(place), path: place, bytes: found.size, signature: "" };
  return Promise.all((found.isDirectory() ? await listFolder(place) : [file]).map(readFolderFile));
}
