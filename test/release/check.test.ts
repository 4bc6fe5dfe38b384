import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { version } from "../../runtime/version.ts";
import type { BillOfMaterials } from "../image/bill-of-materials.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { writeSbom } from "./build.ts";
import { hasUnreleased } from "./changelog.ts";
import { releaseProblems } from "./check.ts";

const root = dirname(dirname(import.meta.dirname));

describe("releaseProblems", () => {
  test("finds nothing in this checkout, wherever it is, nor in its repository", () => {
    expect(releaseProblems(root, {})).toEqual([]);
    expect(releaseProblems(root, { GITHUB_REPOSITORY: "heliograph-dev/heliograph" })).toEqual([]);
  });

  test("finds at a tag of its version only changes that belong to no version yet", () => {
    const tag = { GITHUB_REF_TYPE: "tag", GITHUB_REF_NAME: `v${version}` };
    const sentence = expect.stringContaining('has changes below "Unreleased"');
    expect(releaseProblems(root, tag)).toEqual(hasUnreleased(readFileSync("CHANGELOG.md", "utf8")) ? [sentence] : []);
  });

  test.each([
    ["another repository", { GITHUB_REPOSITORY: "someone/fork" }, "The repository is someone/fork; "],
    ["a tag of another version", { GITHUB_REF_TYPE: "tag", GITHUB_REF_NAME: "v9.9.9" }, "The tag is v9.9.9; "],
  ])("refuses %s", (_what, runner, sentence) => {
    expect(releaseProblems(root, runner)).toContainEqual(expect.stringContaining(sentence));
  });
});

test("the bill of materials names every package of the product, with its version", async () => {
  const folder = await temporaryFolder("sbom");
  const path = join(folder.path, "sbom.cdx.json");
  await writeSbom(root, path);
  const { components } = JSON.parse(await readFile(path, "utf8")) as BillOfMaterials;
  const { dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const listed = components.map(({ name, version: its }) => `${name}@${its}`);
  expect(listed).toEqual(expect.arrayContaining(Object.entries(dependencies).map(([name, its]) => `${name}@${its}`)));
  // What the built console holds.
  expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(["oauth4webapi", "preact", "uplot"]));
  expect(components.filter(({ licenses, hashes }) => licenses.length !== 1 || hashes?.length !== 1)).toEqual([]);
  await folder.remove();
});
