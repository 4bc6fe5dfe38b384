import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { moduleVersion } from "../tools/go-build.ts";
import { tools } from "../tools/tool-table.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(`${root}/${path}`, "utf8");

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** The rows of one section's table: name and version, and the length of the last cell. */
function rowsOf(page: string, heading: string): Readonly<Record<string, string>> {
  const section = page.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const rows = section.matchAll(/^\| `([^`]+)` \| (\S+) \| [^|]+ \| [^|]{20,} \|$/gmu);
  return Object.fromEntries([...rows].map(([, name, version]) => [name, version]));
}

describe("docs/reference/dependencies.md", () => {
  const page = read("docs/reference/dependencies.md");
  const manifest = JSON.parse(read("package.json")) as Manifest;

  test("has a reason for every package of the product, and no other", () => {
    expect(rowsOf(page, "In the product")).toEqual(manifest.dependencies);
  });

  test("has a reason for every package for work on it, and no other", () => {
    expect(rowsOf(page, "For work on it")).toEqual(manifest.devDependencies);
  });

  test("has a reason for every Go module that a tool is built from, and no other", () => {
    const modules = Object.values(tools).map(({ source }) => {
      const goMod = read(`test/tools/${source.folder}/go.mod`);
      return [source.versionModule, moduleVersion(goMod, source.versionModule)];
    });
    expect(rowsOf(page, "Servers and tools that tests start")).toEqual(Object.fromEntries(modules));
  });
});

describe("package.json", () => {
  test("names exact versions only", () => {
    const { dependencies, devDependencies } = JSON.parse(read("package.json")) as Manifest;
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+$/u.test(version),
    );
    expect(loose).toEqual([]);
  });
});

interface LockedPackage {
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

describe("package-lock.json", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as {
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };

  test("holds every package that another one names, for any platform, without which npm ci refuses", () => {
    const missing = Object.entries(packages).flatMap(([path, entry]) =>
      Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
        .filter((name) => !placesToLook(path, name).some((place) => place in packages))
        .map((name) => `${path} → ${name}`),
    );
    expect(missing).toEqual([]);
  });

  test("names no registry, so that everybody installs from their own", () => {
    const resolved = Object.entries(packages).filter(([, entry]) => entry.resolved?.startsWith("http"));
    expect(resolved.map(([path]) => path)).toEqual([]);
  });
});

/** Where Node would look for a package from a path in the lock file, innermost first. */
function placesToLook(from: string, name: string): readonly string[] {
  const folders =
    from === "" ? [] : from.split("/node_modules/").map((_, i, parts) => parts.slice(0, i + 1).join("/node_modules/"));
  return [...folders.map((folder) => `${folder}/node_modules/${name}`), `node_modules/${name}`];
}
