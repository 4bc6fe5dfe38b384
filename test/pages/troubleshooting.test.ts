import { expect, test } from "vitest";
import { reasons } from "../../crds/reasons.ts";
import { errorTable } from "../../runtime/errors/table.ts";
import { textOf } from "../architecture/named-files.ts";

const page = textOf("docs/how-to/troubleshooting.md");
const words = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/gu)].map(([, word = ""]) => word);

test("the page names codes that exist, with their status", () => {
  const rows = [...page.matchAll(/^\| (?<codes>`[a-z_]+`[^|]*) \| (?<status>\d{3}) \|/gmu)];
  const named = rows.flatMap(({ groups = {} }) =>
    words(groups["codes"] ?? "").map((code) => [code, Number(groups["status"])] as const),
  );
  const table = Object.entries(errorTable).map(([code, { status }]) => [code, status] as const);
  expect(named.length).toBeGreaterThan(10);
  expect(table).toEqual(expect.arrayContaining([...named]));
});

test("the page names conditions and reasons that exist", () => {
  const headings = [...page.matchAll(/^### (?<condition>\w+) is (?:False|Unknown)(?:, with (?<reasons>.+))?$/gmu)];
  expect(headings.length).toBeGreaterThan(3);
  for (const { groups = {} } of headings) {
    const { condition = "", reasons: named = "" } = groups;
    const known = Object.keys(reasons[condition === "READY" ? "Ready" : (condition as keyof typeof reasons)]);
    expect(known).toEqual(expect.arrayContaining(named === "" ? [] : named.split(" or ")));
  }
});

test.each([
  ["Unknown, with NoOperator", "test/cli/kubectl/resources.kube.test.ts", "NoOperator"],
  ["NotPermitted", "test/operator/reasons.kube.test.ts", "NotPermitted"],
  ["invalid ownership metadata", "test/chart/ownership.kube.test.ts", "invalid ownership metadata"],
  ["claim aud of the token", "test/runtime/http/authentication/authenticate.test.ts", "aud"],
])("the symptom %s is reproduced by a suite", (symptom, suite, text) => {
  expect(page).toContain(symptom);
  expect(textOf(suite)).toContain(text);
});
