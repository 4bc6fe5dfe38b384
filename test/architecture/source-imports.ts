import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";

/** One `import` or `export … from` of a source file, in the project's own paths. */
interface SourceImport {
  /** The importing file, relative to the root, with `/`. */
  readonly from: string;
  /** The imported file relative to the root, or the bare name of a package. */
  readonly to: string;
  readonly isPackage: boolean;
}

const specifierPattern = /^\s*(?:import|export)\s(?:[^"';]*?\sfrom\s+)?"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gmu;

/** Every TypeScript file, with JSX or without, below the folders, relative to the root. */
export function sourceFiles(root: string, folders: readonly string[]): readonly string[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && /\.tsx?$/u.test(entry.name))
        .map((entry) => relative(root, join(entry.parentPath, entry.name))),
    )
    .sort();
}

/** The imports of one file's text. */
export function importsOf(file: string, text: string): readonly SourceImport[] {
  return [...text.matchAll(specifierPattern)].map((match) => {
    const specifier = match[1] ?? match[2] ?? "";
    const isPackage = !specifier.startsWith(".");
    return {
      from: file,
      to: isPackage ? packageName(specifier) : normalize(join(dirname(file), specifier)),
      isPackage,
    };
  });
}

/** The imports of every file below the folders. */
export function readImports(root: string, folders: readonly string[]): readonly SourceImport[] {
  return sourceFiles(root, folders).flatMap((file) => importsOf(file, readFileSync(join(root, file), "utf8")));
}

function packageName(specifier: string): string {
  if (specifier.startsWith("node:")) return specifier;
  const [scopeOrName = "", name] = specifier.split("/");
  return scopeOrName.startsWith("@") ? `${scopeOrName}/${name ?? ""}` : scopeOrName;
}

/** The files of one import ring, in order, or undefined when there is none. */
export function findRing(imports: readonly SourceImport[]): readonly string[] | undefined {
  const edges = Map.groupBy(
    imports.filter((edge) => !edge.isPackage),
    (edge) => edge.from,
  );
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): readonly string[] | undefined => {
    const start = path.indexOf(file);
    if (start >= 0) return path.slice(start);
    if (done.has(file)) return undefined;
    for (const edge of edges.get(file) ?? []) {
      const ring = visit(edge.to, [...path, file]);
      if (ring !== undefined) return ring;
    }
    done.add(file);
    return undefined;
  };
  for (const file of edges.keys()) {
    const ring = visit(file, []);
    if (ring !== undefined) return ring;
  }
  return undefined;
}
