import { describe, expect, test } from "vitest";
import { version } from "../../runtime/version.ts";
import { textOf } from "./named-files.ts";

const page = textOf("CHANGELOG.md");
const categories = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/** The parts of the changelog, newest first: the text of the heading, and what is below it. */
const releases = page
  .split("\n## ")
  .slice(1)
  .map((part) => ({ heading: part.split("\n")[0] ?? "", text: part }));

describe("CHANGELOG.md", () => {
  test("starts with what is not released, and then has releases with their dates", () => {
    const [first, ...others] = releases.map(({ heading }) => heading);
    expect(first).toBe("[Unreleased]");
    expect(others.filter((heading) => !/^\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$/u.test(heading))).toEqual([]);
  });

  test("has releases in order, the newest first, and none beyond the version of the product", () => {
    const versions = releases.slice(1).map(({ heading }) => heading.slice(1).split("]")[0] ?? "");
    const parts = (text: string): readonly number[] => text.split(".").map(Number);
    const isAfter = (one: string, other: string): boolean => {
      const [a, b] = [parts(one), parts(other)];
      const at = a.findIndex((part, index) => part !== b[index]);
      return at >= 0 && (a[at] ?? 0) > (b[at] ?? 0);
    };
    expect(versions.toSorted((a, b) => (isAfter(a, b) ? -1 : 1))).toEqual(versions);
    expect(versions.filter((one) => isAfter(one, version))).toEqual([]);
  });

  test.each(releases)("has known categories and entries: $heading", ({ text }) => {
    const found = [...text.matchAll(/^### (?<name>.+)$/gmu)].map(({ groups }) => groups?.["name"] ?? "");
    expect(found.filter((name) => !categories.includes(name))).toEqual([]);
    for (const section of text.split("\n### ").slice(1)) expect(section).toMatch(/\n- /u);
  });
});
