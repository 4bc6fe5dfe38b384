import { describe, expect, test } from "vitest";
import { keptFiles, textOf } from "./named-files.ts";

const page = textOf("SECURITY.md");

/** The rows of the table below a heading, by cells. */
function rowsBelow(heading: string): ReadonlyArray<readonly string[]> {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const [own = ""] = section.split("\n## ");
  const [, , ...rows] = own.split("\n").filter((line) => line.startsWith("|"));
  return rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe("SECURITY.md", () => {
  const threats = rowsBelow("Threats and what stops them").map(([boundary = "", threat = "", , proof = ""]) => {
    const { file = "", title = "" } = /^`(?<file>[^`]+)`: "(?<title>[^"]+)"$/u.exec(proof)?.groups ?? {};
    return { boundary, threat, file, title };
  });

  test.each(threats)("names a test that exists: $threat", ({ file, title }) => {
    expect(keptFiles).toContain(file);
    expect(file).toMatch(/\.test\.ts$/u);
    const tests = [...textOf(file).matchAll(/\btest(?:\.\w+\([^\n]*\))?\(\s*"(?<title>[^"]+)"/gu)];
    expect(tests.map(({ groups }) => groups?.["title"])).toContain(title);
  });

  test("has a threat for every trust boundary, and no other", () => {
    const [, section = ""] = page.split("\n## Trust boundaries\n");
    const listed = [...(section.split("\n## ")[0] ?? "").matchAll(/^(?<number>\d+)\. /gmu)];
    const boundaries = listed.map(({ groups }) => groups?.["number"]);
    expect([...new Set(threats.map(({ boundary }) => boundary))]).toEqual(boundaries);
  });

  test("has assets and actors", () => {
    expect(rowsBelow("Assets").length).toBeGreaterThan(3);
    expect(rowsBelow("Actors").length).toBeGreaterThan(3);
  });
});
