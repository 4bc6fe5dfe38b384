import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { version } from "../../runtime/version.ts";
import { hasUnreleased, notesOf, withWholeLinks } from "./changelog.ts";

const changelog =
  "# Changelog\n\n## 1.1.0\n\n- Two.\n\n### Fixed\n\n- Three.\n\n## [1.0.0] - 2026-01-02\n\n- One.\n\n## 0.9.0\n";

describe("notesOf", () => {
  test.each([
    ["its own headings", "1.1.0", "- Two.\n\n### Fixed\n\n- Three.\n"],
    ["a linked heading with a date", "1.0.0", "- One.\n"],
  ])("answers the text of a version with %s", (_what, of, notes) => {
    expect(notesOf(changelog, of)).toBe(notes);
  });

  test("refuses a version without a heading, and one without a word", () => {
    expect(() => notesOf(changelog, "1.0")).toThrow('no heading "## 1.0"');
    expect(() => notesOf(changelog, "0.9.0")).toThrow('nothing below "## 0.9.0"');
  });

  test("finds the version of this checkout in CHANGELOG.md", async () => {
    expect(notesOf(await readFile("CHANGELOG.md", "utf8"), version)).not.toBe("");
  });
});

test.each([
  ["an entry below it", "# Changelog\n\n## [Unreleased]\n\n- One.\n\n## 1.0.0\n", true],
  ["nothing below it", "# Changelog\n\n## [Unreleased]\n\n## 1.0.0\n\n- One.\n", false],
  ["no such heading", "# Changelog\n\n## 1.0.0\n\n- One.\n", false],
])("hasUnreleased finds changes of no version with %s", (_what, text, isFound) => {
  expect(hasUnreleased(text)).toBe(isFound);
});

test("withWholeLinks makes links to files whole and leaves the others", () => {
  const notes = "[a](docs/a.md) [b](https://example.com) [c](#c)";
  expect(withWholeLinks(notes, "https://h/v1")).toBe("[a](https://h/v1/docs/a.md) [b](https://example.com) [c](#c)");
});
