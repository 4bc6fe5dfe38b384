import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ExpressionError } from "../../../runtime/prometheus/language/expression.ts";
import { parseExpression, typeOf } from "../../../runtime/prometheus/language/parse-expression.ts";
import { runsOf } from "../../support/soak.ts";
import { mutatedTexts } from "./expression-texts.ts";

const seed = 19;

/** The refusal of a text, or undefined. @throws what is no refusal */
function refusalOf(text: string): ExpressionError | undefined {
  try {
    typeOf(parseExpression(text));
    return undefined;
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
}

/** Parts that make a text nearly right, so that many of its faults have a remedy. */
const faulty = fc.constantFrom(
  "irate(m[5m])",
  "rate(m)",
  "topk(3, m)",
  "m{a=~'.*'}",
  "m{a=~'^x$'}",
  "m{a=~'a.b'}",
  "(1 == 2)",
  "+m",
  "sum",
  "m[5m:1m]",
  "vector(1)",
  "sort(m) by (a)",
  "m offset 5m",
  "m{a=~'x.*'}",
  "{__name__=~'a'}",
  "avg_ovr_time(m[1m])",
);
const operators = fc.constantFrom(
  "+",
  "> on (a)",
  "and bool",
  "or",
  "< bool",
  "/ ignoring (b, c)",
  "%",
  "== on () group_left",
);
const nearlyRight = fc
  .tuple(faulty, fc.array(fc.tuple(operators, faulty), { maxLength: 3 }))
  .map(([first, rest]) => [first, ...rest.flat()].join(" "));

describe("a refusal of any text", () => {
  test("has a column inside of it and proposes only what is accepted", () => {
    let proposed = 0;
    fc.assert(
      fc.property(fc.oneof(nearlyRight, mutatedTexts, fc.string({ unit: "binary" })), (text) => {
        const refusal = refusalOf(text);
        if (refusal === undefined) return;
        expect(refusal.column).toBeGreaterThanOrEqual(1);
        expect(refusal.column).toBeLessThanOrEqual(text.length + 1);
        if (refusal.rewrite === undefined) return;
        proposed += 1;
        expect({ text, refused: refusalOf(refusal.rewrite)?.message }).toEqual({ text, refused: undefined });
      }),
      { seed, numRuns: runsOf(2_500) },
    );
    expect(proposed).toBeGreaterThan(50);
  });
});
