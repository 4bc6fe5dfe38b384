import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { reasons } from "../../crds/reasons.ts";

const page = readFileSync(fileURLToPath(new URL("../../docs/resources.md", import.meta.url)), "utf8");

test("docs/resources.md holds every reason and no other", () => {
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
