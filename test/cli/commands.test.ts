import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { sourceFiles } from "../architecture/source-imports.ts";
import { textOf } from "../architecture/named-files.ts";
import { dirname, join, normalize } from "node:path";

const staticImport = /^(?:import|export) (?!type)[^;]*?from "(?<to>[^"]+)";/gmsu;
const root = fileURLToPath(new URL("../..", import.meta.url));
const known = new Set(sourceFiles(root, ["api", "cli", "crds", "demo", "kube", "limits", "network", "runtime"]));

/** The packages that a file loads with its imports, those inside of functions left out. */
function packagesOf(file: string, seen: Set<string>): readonly string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const targets = [...textOf(file).matchAll(staticImport)].map(({ groups }) => groups?.["to"] ?? "");
  return targets.flatMap((to) => {
    if (to.startsWith("node:")) return [];
    if (!to.startsWith(".")) return [`${file} imports ${to}`];
    const path = normalize(join(dirname(file), to));
    expect(known).toContain(path);
    return packagesOf(path, seen);
  });
}

test("the modules of all commands load no package, since the help loads them all", () => {
  const modules = [...textOf("cli/commands.ts").matchAll(/import\("(?<to>[^"]+)"\)/gu)].map(({ groups }) =>
    join("cli", groups?.["to"] ?? ""),
  );
  expect(modules.length).toBeGreaterThan(3);
  const seen = new Set<string>();
  expect(modules.flatMap((file) => packagesOf(file, seen))).toEqual([]);
});
