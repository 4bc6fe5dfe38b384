import { describe, expect, test } from "vitest";
import { compileExpression } from "../../runtime/prometheus/compile/compile.ts";
import type { CompiledExpression } from "../../runtime/prometheus/compile/program.ts";
import { ExpressionError } from "../../runtime/prometheus/language/expression.ts";
import { parseExpression, typeOf } from "../../runtime/prometheus/language/parse-expression.ts";
import { textOf } from "../architecture/named-files.ts";
import { knownMetrics } from "../runtime/prometheus/known-metrics.ts";

const page = textOf("docs/reference/promql.md");

function compile(text: string): CompiledExpression {
  const expression = parseExpression(text);
  typeOf(expression);
  return compileExpression(expression, (id) => knownMetrics.get(id));
}

/** The expressions in a column of the tables of a section. */
function cells(heading: string, column: number): readonly string[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const rows = (section.split("\n## ")[0] ?? "").split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) => row.split(" | ")[column]?.replace(/^(?:\| )?`([^`]*)`.*$/u, "$1") ?? "");
}

/** An expression may go on in lines that are indented. */
const blocks = [...page.matchAll(/^```promql\n(?<lines>.*?)^```$/gmsu)].flatMap(({ groups }) =>
  (groups?.["lines"] ?? "").trimEnd().split(/\n(?! )/u),
);

describe("docs/reference/promql.md", () => {
  test("has queries in its tables, refusals and blocks", () => {
    expect([cells("Queries", 0).length, cells("Absent points", 0).length]).toEqual([18, 6]);
    expect([cells("What is rejected", 0).length, blocks.length]).toEqual([19, 7]);
  });

  test.each(cells("Queries", 0))("has %s for one query", (text) => {
    expect(compile(text).program).toEqual({ kind: "leaf", index: 0 });
  });

  test.each([...cells("Absent points", 0), ...blocks])("has %s for an expression of queries", (text) => {
    expect(compile(text).selectors.length).toBeGreaterThan(0);
  });

  test.each(cells("What is rejected", 0))("says that %s is refused", (text) => {
    expect(() => compile(text)).toThrow(ExpressionError);
  });

  test.each(cells("What is rejected", 2))("has %s to write instead", (text) => {
    expect(() => compile(text)).not.toThrow();
  });

  test("names a metric in braces", () => {
    expect(page).toContain('`{__name__="count"}`');
    expect(parseExpression('{__name__="count"}')).toMatchObject({ metric: "count" });
  });
});
