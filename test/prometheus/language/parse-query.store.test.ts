import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ExpressionError, type Expression } from "../../../runtime/prometheus/language/expression.ts";
import { formatExpression } from "../../../runtime/prometheus/language/format-expression.ts";
import { parseExpression, typeOf } from "../../../runtime/prometheus/language/parse-expression.ts";
import { startPrometheus, type PrometheusHandle } from "../../support/prometheus.ts";
import { runsOf } from "../../support/soak.ts";
import { expressionTexts, mutatedTexts } from "./expression-texts.ts";
import { treeOf, treeOfPrometheus, type Tree } from "./trees.ts";

const seed = 19;
const numRuns = runsOf(1_500);
/** Most changed texts are refused, which asks no server. */
const changedRuns = runsOf(5_000);

let server: PrometheusHandle;
beforeAll(async () => {
  server = await startPrometheus();
});
afterAll(async () => server?.stop());

async function call(path: string, query: string): Promise<{ readonly data: unknown; readonly error?: string }> {
  const response = await fetch(`${server.url}/api/v1/${path}`, {
    method: "POST",
    body: new URLSearchParams({ query }),
  });
  return (await response.json()) as { readonly data: unknown };
}

/** The tree of the real parser, or its refusal. */
async function askPrometheus(query: string): Promise<Tree> {
  const { data, error } = await call("parse_query", query);
  return data === undefined ? { kind: "refused", error } : treeOfPrometheus(data);
}

/** Our expression with its types checked, or undefined when it is refused. */
function parse(text: string): Expression | undefined {
  try {
    const expression = parseExpression(text);
    typeOf(expression);
    return expression;
  } catch (error) {
    if (error instanceof ExpressionError) return undefined;
    throw error;
  }
}

describe("the parser of Prometheus", () => {
  test("reads every expression of the subset as we do", { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(expressionTexts, async (text) => {
        const expression = parseExpression(text);
        typeOf(expression);
        expect(await askPrometheus(text)).toEqual(treeOf(expression));
      }),
      { seed, numRuns },
    );
  });

  test("reads our canonical text as we do, and so does its own formatter", { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(expressionTexts, async (text) => {
        const tree = treeOf(parseExpression(text));
        const canonical = formatExpression(parseExpression(text));
        expect(treeOf(parseExpression(canonical))).toEqual(tree);
        expect(formatExpression(parseExpression(canonical))).toBe(canonical);
        const { data } = await call("format_query", canonical);
        expect(await askPrometheus(String(data))).toEqual(tree);
      }),
      { seed: seed + 1, numRuns: numRuns / 2 },
    );
  });

  test("reads a changed text as we do wherever we accept it", { timeout: 600_000 }, async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(mutatedTexts, async (text) => {
        const expression = parse(text);
        if (expression === undefined) return;
        accepted += 1;
        expect(await askPrometheus(text)).toEqual(treeOf(expression));
      }),
      { seed: seed + 2, numRuns: changedRuns },
    );
    expect(accepted).toBeGreaterThan(changedRuns / 20);
    expect(accepted).toBeLessThan(changedRuns);
  });
});
