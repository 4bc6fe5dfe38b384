import { readFileSync } from "node:fs";
import type { CatalogConfig } from "../../../crds/config.ts";
import { allowAll } from "../../../crds/policy.ts";
import { parseFolderFile } from "../../../runtime/config/folder/folder-files.ts";
import { compileFiles } from "../../../runtime/config/folder/folder-state.ts";

/** The one catalog of a file. */
export function catalogIn(path: string): CatalogConfig {
  const [catalog] = compileFiles([parseFolderFile(path, readFileSync(path))], allowAll).config.catalogs;
  if (catalog === undefined) throw new Error(`${path} has no catalog`);
  return catalog;
}

export const exampleCatalog = catalogIn("docs/examples/metric-catalog.yaml");
