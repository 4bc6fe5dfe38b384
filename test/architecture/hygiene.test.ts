import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const fileBytesMax = 1024 * 1024;
const picture = /^docs\/console\/[a-z-]+\.webp$/u;
const pictureBytesMax = 80 * 1024;
const tooWide = /^.{121}/u;
/** In a test, a line may be wider when it is one title or one text: this is all that it holds besides. */
const besidesTextMax = 45;
const oneText = /"[^"]*"|'[^']*'|`[^`]*`/u;

/** Files that git tracks, and new ones that it does not ignore. */
function keptFiles(): readonly string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const output = execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 16 * 1024 * 1024 });
  return output.split("\0").filter((file) => file !== "" && existsSync(join(root, file)));
}

/** What no kept file may hold. Written as patterns, which do not match themselves. */
const forbidden: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["a path of one machine", /\/(?:work|root|tmp\/toolbuild)\//u],
  ["a registry's host", /registry\.(?:npmjs|yarnpkg)/u],
  ["a private key", /-----BEGIN [A-Z ]*PRIVATE KEY-----\s*(?:\\n)?\s*[\w+/]{40}/u],
];

const isText = (bytes: Buffer): boolean => !bytes.subarray(0, 8_000).includes(0);

describe("kept files", () => {
  const files = keptFiles();

  test("are there to be looked at", () => {
    expect(files).toContain("test/architecture/hygiene.test.ts");
  });

  test("are text of modest size, or small pictures of pages", () => {
    const odd = files.filter((file) => {
      const { size } = statSync(join(root, file));
      if (picture.test(file)) return size > pictureBytesMax;
      return size > fileBytesMax || !isText(readFileSync(join(root, file)));
    });
    expect(odd).toEqual([]);
  });

  test("hold TypeScript and styles in at most 120 columns, titles and texts of tests apart", () => {
    const wide = files
      .filter((file) => /\.(?:tsx?|css)$/u.test(file))
      .flatMap((file) => {
        const isFree = (line: string): boolean => {
          return file.startsWith("test/") && line.replace(oneText, "").length <= besidesTextMax;
        };
        return readFileSync(join(root, file), "utf8")
          .split("\n")
          .flatMap((line, index) => (tooWide.test(line) && !isFree(line) ? [`${file}:${index + 1}`] : []));
      });
    expect(wide).toEqual([]);
  });

  test("hold no path of one machine, no registry host and no private key", () => {
    const found = files.flatMap((file) => {
      const text = readFileSync(join(root, file), "utf8");
      return forbidden.filter(([, pattern]) => pattern.test(text)).map(([what]) => `${file} holds ${what}`);
    });
    expect(found).toEqual([]);
  });

  test("link to files that are there", () => {
    const dead = files
      .filter((file) => file.endsWith(".md"))
      .flatMap((file) => {
        const text = readFileSync(join(root, file), "utf8").replaceAll(/`[^`\n]*`/gu, "``");
        const targets = text.matchAll(/\]\((?!https?:|mailto:|#)(?<target>[^)#\s]+)/gu);
        return [...targets]
          .map(({ groups }) => groups?.["target"] ?? "")
          .filter((target) => !existsSync(join(root, dirname(file), target)))
          .map((target) => `${file}: ${target}`);
      });
    expect(dead).toEqual([]);
  });
});
