import { expect, test } from "vitest";
import { errorTable, type ErrorCode } from "../../runtime/errors/table.ts";
import { textOf } from "../architecture/named-files.ts";
import { productRoutes } from "./product-routes.ts";

const page = textOf("docs/how-to/tokens.md");

/** Operations by scope, as the table of scopes has them. */
function documentedScopes(): Readonly<Record<string, readonly string[]>> {
  const [, section = ""] = page.split("\n## Scopes\n");
  const [own = ""] = section.split("\n## ");
  const rows = [...own.matchAll(/^\| `(?<scope>[\w:.]+)` \| (?<operations>.*) \|$/gmu)];
  return Object.fromEntries(
    rows.map(({ groups }) => [
      groups?.["scope"],
      [...(groups?.["operations"] ?? "").matchAll(/`((?:GET|POST|DELETE) [^`]+)`/gu)].map(([, name = ""]) => name),
    ]),
  );
}

test("docs/how-to/tokens.md holds every scope with the operations that accept it", () => {
  const scopes = new Map<string, string[]>([
    ["metrics:explain", []],
    ["console:admin", []],
  ]);
  for (const { method, path, scopes: own } of productRoutes()) {
    for (const scope of own)
      scopes.set(scope, [...(scopes.get(scope) ?? []), `${method} ${path.replaceAll(/:(\w+)/gu, "{$1}")}`]);
  }
  const sorted = Object.entries(documentedScopes()).map(([scope, names]) => [scope, names.toSorted()]);
  expect(Object.fromEntries(sorted)).toEqual(
    Object.fromEntries([...scopes].map(([scope, names]) => [scope, names.toSorted()])),
  );
});

test("docs/how-to/tokens.md explains every 401 and 403 of the error table", () => {
  const rows = [...page.matchAll(/^\| (?<status>\d{3}) \| (?<codes>[^|]+) \|/gmu)];
  const written = rows.flatMap(({ groups }) =>
    [...(groups?.["codes"] ?? "").matchAll(/`(\w+)`/gu)].map(
      ([, code = ""]) => [code, Number(groups?.["status"])] as const,
    ),
  );
  for (const [code, status] of written) expect([code, errorTable[code as ErrorCode]?.status]).toEqual([code, status]);
  const refusals = Object.entries(errorTable).filter(([, { status }]) => status === 401 || status === 403);
  expect(refusals.map(([code]) => code).filter((code) => !written.some(([own]) => own === code))).toEqual([]);
});
