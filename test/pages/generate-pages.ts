import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { apiPage } from "./api-page.ts";
import type { GeneratedFile } from "../tools/resource-types.ts";
import { resourcePages } from "./resource-pages.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Every page of docs/ that is made of the product's own tables, but docs/reference/semantics.md. */
export function generatedPages(): readonly GeneratedFile[] {
  return [...resourcePages(), apiPage()];
}

if (import.meta.main) {
  for (const { path, text } of generatedPages()) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}
