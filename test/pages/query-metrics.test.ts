import { describe, expect, test } from "vitest";
import { bulkOperation, catalogOperation, healthOperation } from "../../runtime/http/openapi/metrics-operations.ts";
import { instantOperation, queryOperation, sloOperation } from "../../runtime/http/openapi/metrics-operations.ts";
import {
  labelValuesOperation,
  planOperation,
  quotaOperation,
  sloHistoryOperation,
  usageOperation,
} from "../../runtime/http/openapi/price-operations.ts";
import { schemas } from "../../api/schemas.ts";
import { textOf } from "../architecture/named-files.ts";

const page = textOf("docs/how-to/query-metrics.md");
const operations = [
  queryOperation,
  instantOperation,
  bulkOperation,
  catalogOperation,
  sloOperation,
  healthOperation,
  labelValuesOperation,
  planOperation,
  quotaOperation,
  sloHistoryOperation,
  usageOperation,
] as const;

/** The first cells of the tables of a section: names in backquotes. */
function namesIn(text: string, heading: string): readonly string[] {
  const [, section = ""] = text.split(`\n## ${heading}\n`);
  const [own = ""] = section.split("\n## ");
  const cells = [...own.matchAll(/^\| (?<cell>`[^|]*`) \|/gmu)].map(({ groups }) => groups?.["cell"] ?? "");
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/gu)].map(([, name = ""]) => name));
}

const parametersOf = (...own: readonly (typeof operations)[number][]): readonly string[] => [
  ...new Set(own.flatMap(({ parameters = [] }) => parameters.map(({ name }) => name))),
];
const sorted = (names: Iterable<string>): readonly string[] => [...new Set(names)].toSorted();

describe("docs/how-to/query-metrics.md", () => {
  test("holds every parameter of query and instant, and no other", () => {
    const written = namesIn(page, "Parameters of query and instant");
    expect(sorted(written)).toEqual(sorted(parametersOf(queryOperation, instantOperation)));
    expect(written).toHaveLength(new Set(written).size);
  });

  test("holds every member of a bulk's query among them", () => {
    const members = Object.keys((schemas["BulkQuery"] as { readonly properties: object }).properties);
    const written = namesIn(page, "Parameters of query and instant").map((name) => name.replace(/\[\w+\]/u, ""));
    expect(members.filter((name) => name !== "id" && !written.includes(name))).toEqual([]);
  });

  test("holds every parameter of catalog and slo, and no other", () => {
    const written = namesIn(page, "Parameters of catalog and slo");
    expect(sorted(written)).toEqual(sorted(parametersOf(catalogOperation, sloOperation)));
  });

  test("holds every header of the responses, and no other", () => {
    const headers = operations.flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ headers: own = {} }) => Object.keys(own)),
    );
    expect(sorted(namesIn(page, "Headers"))).toEqual(sorted(headers));
  });

  test("holds every code of metrics of docs/reference/errors.md with its status, and no other", () => {
    const rows = (text: string): readonly string[] =>
      [...text.matchAll(/^\| `(?<code>\w+)` \| (?<status>\d{3}) \|/gmu)].map(
        ({ groups }) => `${groups?.["code"]} ${groups?.["status"]}`,
      );
    const [, errors = ""] = textOf("docs/reference/errors.md").split("\n## Metrics\n");
    const [, written = ""] = page.split("\n## Errors\n");
    expect(rows(errors).length).toBeGreaterThan(20);
    expect(sorted(rows(written))).toEqual(sorted(rows(errors)));
  });

  test("holds every operation and every status of an objective", () => {
    const statuses = (
      schemas["Slo"] as { readonly properties: { readonly status: { readonly enum: readonly string[] } } }
    ).properties.status.enum;
    expect(sorted(namesIn(page, "Objectives"))).toEqual(sorted(statuses));
    expect(namesIn(page, "Operations")).toHaveLength(operations.length);
  });
});
