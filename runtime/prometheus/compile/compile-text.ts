import { Refusal } from "../../errors/refusal.ts";
import { ExpressionError } from "../language/expression.ts";
import { parseExpression } from "../language/parse-expression.ts";
import { compileExpression } from "./compile.ts";
import { hasMatches } from "./has-matches.ts";
import type { LookUp } from "./look-up.ts";
import type { CompiledExpression } from "./program.ts";

/** Most texts that are tried in the place of a refused one. */
const rewritesMax = 3;

/**
 * Compiles the text of an expression.
 *
 * @param names ids of metrics, for the hint of an unknown one
 * @throws ExpressionError with a text that compiles, where one is known; what the look-up throws
 */
export function compileText(text: string, lookUp: LookUp, names: () => Iterable<string>): CompiledExpression {
  const compile = (own: string): CompiledExpression => compileExpression(parseExpression(own), lookUp, names);
  try {
    return compile(text);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw new ExpressionError(error.message, error.column, workingRewrite(error.rewrite, compile));
  }
}

/** The parser knows no metrics, so that its rewrite may be refused in turn, with another one. */
function workingRewrite(
  proposed: string | undefined,
  compile: (text: string) => CompiledExpression,
): string | undefined {
  let text = proposed;
  for (let tries = 0; text !== undefined && tries < rewritesMax; tries += 1) {
    try {
      return hasMatches(compile(text)) ? text : undefined;
    } catch (error) {
      if (error instanceof ExpressionError) text = error.rewrite;
      // The caller may not read a metric of the text.
      else if (error instanceof Refusal) return undefined;
      else throw error;
    }
  }
  return undefined;
}
