import { expect, test } from "vitest";
import { textOf } from "../architecture/named-files.ts";

const [body = "", sources = ""] = textOf("docs/explanation/comparison.md").split("\n## Sources\n");

test("docs/explanation/comparison.md has an address for every number that it cites, and cites every one", () => {
  const cited = [...body.matchAll(/\[(\d+(?:, \d+)*)\](?!\()/gu)].flatMap(([, numbers = ""]) => numbers.split(", "));
  const addressed = [...sources.matchAll(/^(?<number>\d+)\. <https:\/\//gmu)].map(
    ({ groups }) => groups?.["number"] ?? "",
  );
  expect(addressed.length).toBeGreaterThan(10);
  expect([...new Set(cited)].toSorted()).toEqual(addressed.toSorted());
});

test("docs/explanation/comparison.md is dated and states no speed", () => {
  expect(body).toMatch(/^As of \w+ 20\d\d\./mu);
  expect(body).not.toMatch(/\d ?(?:ms|req\/s|events? (?:a|per) second|\/s)\b/u);
});
