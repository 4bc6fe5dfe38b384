import { ExpressionError, type Expression } from "./expression.ts";
import { ExpressionParser } from "./expression-parser.ts";
import { applyEdit, Fault } from "./fault.ts";
import { formatExpression } from "./format-expression.ts";
import { TokenReader } from "./token-reader.ts";
import { typeOf } from "./type-of.ts";

/** Characters of the longest text. */
export const charactersMax = 8_192;
/** How many faults of one text a rewrite removes. */
const editsMax = 8;
const noMore: ReadonlySet<string> = new Set();

/**
 * Parses an expression of the subset. Types are not checked.
 *
 * @throws ExpressionError where the text is no expression or outside of the subset
 */
export function parseExpression(text: string): Expression {
  const parsed = tryToParse(text);
  if (!(parsed instanceof Fault)) return parsed;
  throw new ExpressionError(parsed.message, parsed.start + 1, rewriteOf(text, parsed));
}

/**
 * Parses an expression, or returns its first fault.
 *
 * @param more functions besides those of the subset. @default none
 */
export function tryToParse(text: string, more: ReadonlySet<string> = noMore): Expression | Fault {
  const tooLong = `the expression has ${text.length} characters; at most ${charactersMax} are allowed`;
  if (text.length > charactersMax) return new Fault(tooLong, charactersMax);
  try {
    return new ExpressionParser(new TokenReader(text), more).parse();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

/** The text without its faults, or undefined when one of them has no remedy. */
function rewriteOf(text: string, fault: Fault): string | undefined {
  let rewritten = text;
  let next: Expression | Fault = fault;
  for (let edits = 0; next instanceof Fault; edits += 1) {
    if (next.edit === undefined || edits === editsMax) return undefined;
    rewritten = applyEdit(rewritten, next.edit);
    next = tryToParse(rewritten);
  }
  return withTypes(next);
}

/** The canonical text when the types are right, or the rewrite that the refusal of the types proposes. */
function withTypes(expression: Expression): string | undefined {
  try {
    typeOf(expression);
    return formatExpression(expression);
  } catch (error) {
    if (error instanceof ExpressionError) return error.rewrite;
    throw error;
  }
}
