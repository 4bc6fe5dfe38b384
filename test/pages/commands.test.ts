import { describe, expect, test } from "vitest";
import { keptFiles } from "../architecture/named-files.ts";
import { commandBlocks } from "./command-blocks.ts";
import { commandProofs, proofOf, type Proof } from "./command-proofs.ts";

const blocks = commandBlocks();
const suitesOf = (proof: Proof): readonly string[] =>
  "runBy" in proof ? proof.runBy : "checkedBy" in proof ? proof.checkedBy : [];

describe("the commands of README.md and docs/", () => {
  test("each have a row in command-proofs.ts that says how they are shown to work", () => {
    const without = blocks.filter(({ page, first }) => proofOf(page, first) === undefined);
    expect(without.map(({ page, first }) => `${page}: ${first}`)).toEqual([]);
    expect(blocks.length).toBeGreaterThan(40);
  });

  test("have no row without a block", () => {
    const idle = Object.entries(commandProofs).flatMap(([place, proofs]) =>
      Object.keys(proofs)
        .filter((first) => !blocks.some((block) => block.page.startsWith(place) && ["*", block.first].includes(first)))
        .map((first) => `${place}: ${first}`),
    );
    expect(idle).toEqual([]);
  });

  test("are run by suites that exist", () => {
    const suites = Object.values(commandProofs).flatMap((proofs) => Object.values(proofs).flatMap(suitesOf));
    expect(suites.filter((suite) => !keptFiles.includes(suite) || !suite.endsWith(".test.ts"))).toEqual([]);
  });

  test("that were never run say so beside them", () => {
    const neverRun = blocks.filter(({ page, first }) => "neverRun" in (proofOf(page, first) ?? {}));
    const silent = neverRun.filter(({ beside }) => !/never (?:been )?run/u.test(beside.replaceAll(/\s+/gu, " ")));
    expect(silent.map(({ page, first }) => `${page}: ${first}`)).toEqual([]);
  });
});
