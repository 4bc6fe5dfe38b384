import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { reasons } from "../../crds/reasons.ts";

const page = readFileSync(fileURLToPath(new URL("../../docs/reference/resources.md", import.meta.url)), "utf8");

test("docs/reference/resources.md holds every reason and no other", () => {
  const rows = [
    ...page.matchAll(/^\| `(?<condition>\w+)` \| (?<status>\w+) \| `(?<reason>\w+)` \| (?<meaning>.+) \|$/gmu),
  ];
  const written = rows.map((row) => ({ ...row.groups }));
  const table = Object.entries(reasons).flatMap(([condition, byReason]) =>
    Object.entries(byReason).map(([reason, { status, meaning }]) => ({
      condition,
      status,
      reason,
      meaning,
    })),
  );
  expect(written).toEqual(table);
});

test("every condition and reason is one that the definitions accept", () => {
  const words = Object.entries(reasons).flatMap(([condition, byReason]) => [condition, ...Object.keys(byReason)]);
  expect(words.filter((word) => !/^[A-Za-z]+$/u.test(word))).toEqual([]);
  const definition = readFileSync(fileURLToPath(new URL("../../crds/webhook-partner.yaml", import.meta.url)), "utf8");
  expect(definition.match(/pattern: \^\[A-Za-z\]\+\$$/gmu)).toHaveLength(2);
});
