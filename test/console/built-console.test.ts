import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { buildConsole } from "../image/files.ts";
import { bundledPackages } from "../image/production-packages.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** What a browser loads before it shows anything, and everything that it may load later. */
const [shellBytesMax, totalBytesMax] = [40 * 1024, 140 * 1024];

let folder: TemporaryFolder;
let files: ReadonlyMap<string, Buffer>;

beforeAll(async () => {
  folder = await temporaryFolder("console");
  // No Node is on PATH, so that the build needs none but the one that runs it.
  vi.stubEnv("PATH", "");
  await buildConsole(root, folder.path);
  vi.unstubAllEnvs();
  const entries = await readdir(folder.path, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  files = new Map(
    await Promise.all(paths.map(async (path) => [path.slice(folder.path.length + 1), await readFile(path)] as const)),
  );
});
afterAll(async () => folder.remove());

const isCoded = (name: string): boolean => /\.(?:br|gz)$/u.test(name);
const plainNames = (): readonly string[] => [...files.keys()].filter((name) => !isCoded(name));
const textOf = (name: string): string => files.get(name)?.toString("utf8") ?? "";
const codedBytes = (names: readonly string[]): number =>
  names.reduce((sum, name) => sum + gzipSync(files.get(name) ?? Buffer.of(), { level: 9 }).length, 0);

/** The page with the scripts and styles that it names, and the modules that these import at once. */
function shellNames(): readonly string[] {
  const named = (text: string): readonly string[] =>
    [...text.matchAll(/(?:src|href)="\/console\/([^"]+)"/gu)].map(([, name = ""]) => name);
  const imported = (text: string): readonly string[] =>
    [...text.matchAll(/(?:\bfrom|\bimport)\s*["']\.\/([^"']+)["']/gu)].map(([, name = ""]) => `assets/${name}`);
  const found = new Set(["index.html", ...named(textOf("index.html"))]);
  // The loop also visits names that are added while it runs.
  for (const name of found) if (name.endsWith(".js")) for (const next of imported(textOf(name))) found.add(next);
  return [...found];
}

describe("the built console", () => {
  test("is small", () => {
    const shell = codedBytes(shellNames());
    const total = codedBytes(plainNames().filter((name) => name !== "licenses.md"));
    const ofMax = (bytes: number, max: number): string => `${(bytes / 1024).toFixed(1)} of ${max / 1024} KB`;
    console.log(`console, gzip: shell ${ofMax(shell, shellBytesMax)}, all ${ofMax(total, totalBytesMax)}`);
    expect(shellNames().length).toBeGreaterThan(1);
    expect(shellNames().filter((name) => !files.has(name))).toEqual([]);
    expect(shell).toBeLessThanOrEqual(shellBytesMax);
    expect(total).toBeLessThanOrEqual(totalBytesMax);
  });

  test("holds a page, licences, and files whose names hold their digests", () => {
    const others = plainNames().filter((name) => name !== "index.html" && name !== "licenses.md");
    expect(others.filter((name) => !/^assets\/[\w.-]+-[\w-]{8}\.(?:js|css|svg|woff2|png)$/u.test(name))).toEqual([]);
    const licensed = [...textOf("licenses.md").matchAll(/^## (\S+) - \d/gmu)].map(([, name = ""]) => name);
    expect(licensed).toContain("preact");
    // What the bill of materials lists beside the packages in folders of their own.
    expect(licensed.filter((name) => !(bundledPackages as readonly string[]).includes(name))).toEqual([]);
  });

  test("has nothing inline, and names no other server", () => {
    const page = textOf("index.html");
    expect(page).not.toMatch(/<style|\bstyle=|\bon\w+=|javascript:|<base\b|<script(?![^>]*\bsrc=)[^>]*>/iu);
    expect(page).not.toMatch(/(?:src|href)="(?!\/console\/|data:)/u);
  });

  test("holds no path of the machine that built it and no map of its sources", () => {
    const telling = [root, "sourceMappingURL", "node_modules/", ".tsx"];
    const found = plainNames().flatMap((name) =>
      telling.filter((word) => textOf(name).includes(word)).map((word) => `${name}: ${word}`),
    );
    expect(found).toEqual([]);
  });

  test("has the codings of each file beside it, unless it fits one packet", () => {
    const large = plainNames().filter((name) => (files.get(name)?.length ?? 0) >= 1_024);
    expect(large.length).toBeGreaterThan(0);
    expect(large.flatMap((name) => [`${name}.br`, `${name}.gz`]).filter((name) => !files.has(name))).toEqual([]);
  });
});
