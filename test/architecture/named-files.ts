import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The text of a file, by its path from the root. */
export const textOf = (path: string): string => readFileSync(join(root, path), "utf8");

/** Every file that git keeps or would keep, by its path from the root. */
export const keptFiles: readonly string[] = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard"],
  { cwd: root, encoding: "utf8", maxBuffer: 16 * 1024 * 1024 },
)
  .split("\n")
  .filter((path) => path !== "" && existsSync(join(root, path)));

const namePattern = /(?<![\w.*/-])\w[\w./-]*\.(?:ts|yaml|md|json)\b/gu;

/** The files that a text names. Links and globs are left out, and so is the placeholder `NNNN`. */
export function namedFiles(text: string): readonly string[] {
  const withoutLinks = text.replaceAll(/\]\([^)]*\)/gu, "]");
  return [...new Set(withoutLinks.match(namePattern))].filter((name) => !name.includes("NNNN"));
}

/** The kept files that a name can mean: a path from the root, or the end of a path. Product files win over tests. */
export function filesNamed(name: string): readonly string[] {
  if (keptFiles.includes(name)) return [name];
  const found = keptFiles.filter((path) => path.endsWith(`/${name}`));
  const product = found.filter((path) => !path.startsWith("test/"));
  return product.length > 0 ? product : found;
}
