import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAst } from "vitest/node";
import { keptFiles, textOf } from "./named-files.ts";

const allowedPath = "test/architecture/exported-names.allowed.json";
const files = keptFiles.filter((path) => /^(?!test\/|docs\/|charts\/|crds\/types\/)[\w-]+\/.*\.tsx?$/u.test(path));

/** Names of files, without a folder, whose exports do not name them and that are still allowed. */
export function allowedNames(): ReadonlySet<string> {
  return new Set(JSON.parse(textOf(allowedPath)) as string[]);
}

/** Files with exports of which none names the file. A folder is left out, so that files can move. */
export function misnamedFiles(): readonly string[] {
  return files.filter((file) => {
    const exported = exportedNames(file);
    return exported.length > 0 && !exported.some((name) => names(name, basename(file)));
  });
}

/** True if one has all words of the other: `settle.ts` and `settleAttempt`, `fair-places.ts` and `createFairPlaces`. */
function names(exported: string, file: string): boolean {
  const ofFile = file
    .replace(/\.tsx?$/u, "")
    .split("-")
    .map(stem);
  const ofExport = exported.split(/(?=[A-Z])|_/u).map(stem);
  return ofFile.every((word) => ofExport.includes(word)) || ofExport.every((word) => ofFile.includes(word));
}

const stem = (word: string): string => word.toLowerCase().replace(/(?:ies|y|es|s|e|ed|ing)$/u, "");

interface Declaration {
  readonly type: string;
  readonly declaration?: {
    readonly id?: { readonly name: string } | null;
    readonly declarations?: readonly { readonly id: { readonly name?: string } }[];
  } | null;
  readonly specifiers?: readonly { readonly exported: { readonly name?: string } }[];
}

function exportedNames(file: string): readonly string[] {
  const { body } = parseAst(textOf(file), { lang: file.endsWith(".tsx") ? "tsx" : "ts" });
  const exports = (body as unknown as readonly Declaration[]).filter(({ type }) => type === "ExportNamedDeclaration");
  return exports.flatMap(({ declaration, specifiers = [] }) => [
    ...(declaration?.id?.name === undefined ? [] : [declaration.id.name]),
    ...(declaration?.declarations ?? []).flatMap(({ id }) => id.name ?? []),
    ...specifiers.flatMap(({ exported }) => exported.name ?? []),
  ]);
}

if (import.meta.main) {
  const found = [...new Set(misnamedFiles().map((file) => basename(file)))].toSorted();
  const added = found.filter((name) => !allowedNames().has(name));
  if (added.length > 0) throw new Error(`The list only shrinks; rename ${added.join(", ")} or an export of each.`);
  writeFileSync(fileURLToPath(new URL(`../../${allowedPath}`, import.meta.url)), `${JSON.stringify(found, null, 2)}\n`);
}
