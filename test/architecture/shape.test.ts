import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseAst } from "vitest/node";
import { readImports, sourceFiles } from "./source-imports.ts";
import { allowedNames, misnamedFiles } from "./exported-names.ts";
import { keptFiles } from "./named-files.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const product = ["api", "cli", "console", "crds", "demo", "kube", "limits", "network", "operator", "runtime"];
/** Their files are no product: tests, and examples of the chart. */
const others = ["charts", "test"];
const text = (file: string): string => readFileSync(join(root, file), "utf8");
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** The folder with the most files of its own among those of some top-level folders. */
function fullest(folders: readonly string[]): { readonly folder: string; readonly count: number } {
  const byFolder = Map.groupBy(sourceFiles(root, folders), (file) => dirname(file));
  const [folder, files] = [...byFolder].sort(([, a], [, b]) => b.length - a.length)[0] ?? ["", []];
  return { folder, count: files.length };
}

/** The longest chain of imports, types included, between the files and folders directly below a folder. */
function longestChain(folder: string): readonly string[] {
  const unitOf = (file: string): string | undefined =>
    file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split("/")[0] : undefined;
  const below = new Map<string, Set<string>>();
  for (const { from, to } of readImports(root, ["runtime"])) {
    const [unit, other] = [unitOf(from), unitOf(to)];
    if (unit === undefined || other === undefined || unit === other) continue;
    below.set(unit, (below.get(unit) ?? new Set()).add(other));
  }
  const known = new Map<string, readonly string[]>();
  const chain = (unit: string): readonly string[] => {
    const before = known.get(unit);
    if (before !== undefined) return before;
    const chains = [...(below.get(unit) ?? [])].map(chain);
    const longest = [unit, ...(chains.sort((a, b) => b.length - a.length)[0] ?? [])];
    known.set(unit, longest);
    return longest;
  };
  return [...below.keys()].map(chain).sort((a, b) => b.length - a.length)[0] ?? [];
}

/** Lines of every function with a body of statements, those inside other functions included. */
function functionLines(file: string): readonly number[] {
  const source = text(file);
  const lengths: number[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) {
      node.forEach(visit);
      return;
    }
    if (typeof node !== "object" || node === null) return;
    const { type, start, end, body } = node as { type?: string; start: number; end: number; body?: { type?: string } };
    if (/^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/u.test(type ?? ""))
      if (body?.type === "BlockStatement") lengths.push(source.slice(start, end).split("\n").length);
    Object.values(node).forEach(visit);
  };
  visit(parseAst(source, { lang: file.endsWith(".tsx") ? "tsx" : "ts" }, file));
  return lengths;
}

test.each([
  ["the product", product, 20],
  ["the tests", ["test"], 30],
])("no folder of %s holds more files than a reader can survey", (what, folders, most) => {
  const { folder, count } = fullest(folders);
  say(`files in a folder of ${what}: at most ${count} (${folder}), bar ${most}`);
  expect(count).toBeLessThanOrEqual(most);
});

test.each([
  ["runtime/webhooks", 10],
  ["runtime/metrics", 11],
])("imports inside %s build on each other in few steps", (folder, most) => {
  const chain = longestChain(folder);
  say(`longest chain of imports in ${folder}: ${chain.length}, bar ${most}: ${chain.join(" > ")}`);
  expect(chain.length).toBeLessThanOrEqual(most);
});

test("functions are short", () => {
  const files = sourceFiles(root, product).filter((file) => !file.startsWith("crds/types/"));
  const lengths = files.flatMap(functionLines).sort((a, b) => a - b);
  const [p50 = 0, p90 = 0] = [0.5, 0.9].map((share) => lengths[Math.floor(lengths.length * share)]);
  say(
    `${lengths.length} functions with statements: p50 ${p50} lines (bar 7), p90 ${p90} (bar 19), most ${lengths.at(-1)}`,
  );
  expect(lengths.length).toBeGreaterThan(1_000);
  expect(p50).toBeLessThanOrEqual(7);
  expect(p90).toBeLessThanOrEqual(19);
});

test("every folder with code is measured", () => {
  const folders = keptFiles
    .filter((file) => /^[^/]+\/.*\.tsx?$/u.test(file))
    .map((file) => file.split("/", 1)[0] ?? "");
  expect([...new Set(folders)].toSorted()).toEqual([...product, ...others].toSorted());
});

test("files are seldom fragments", () => {
  const files = sourceFiles(root, product).filter((file) => !file.startsWith("crds/types/"));
  const lengths = files.map((file) => text(file).split("\n").length - 1).sort((a, b) => a - b);
  const median = lengths[Math.floor(lengths.length / 2)] ?? 0;
  say(`files of the product: ${files.length} (bar 884), with a median of ${median} lines (bar 80)`);
  expect(files.length).toBeGreaterThan(500);
  expect(files.length).toBeLessThanOrEqual(885);
  expect(median).toBeGreaterThanOrEqual(80);
});

test("few files are long", () => {
  const long = sourceFiles(root, product).filter((file) => {
    return !file.startsWith("crds/types/") && text(file).split("\n").length - 1 > 250;
  });
  say(`files of the product with more than 250 lines: ${long.length} (a target): ${long.join(", ")}`);
  expect(long.length).toBeLessThanOrEqual(27);
});

test("a file of each folder of the product begins with what the folder is and is not", () => {
  const byFolder = Map.groupBy(sourceFiles(root, product), (file) => dirname(file));
  const silent = [...byFolder].filter(([, files]) => !files.some((file) => text(file).startsWith("// ")));
  expect(silent.map(([folder]) => folder)).toEqual([]);
});

test("an export names its file, apart from files of a list that only shrinks", () => {
  const misnamed = misnamedFiles().filter((file) => !allowedNames().has(file.split("/").at(-1) ?? ""));
  expect(misnamed.map((file) => `${file}: give an export the name of the file, or rename the file`)).toEqual([]);
});
