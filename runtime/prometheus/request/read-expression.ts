import { refuseField, type Refusal } from "../../errors/refusal.ts";
import type { Parameters } from "../../metrics/request/parameters.ts";
import { compileText } from "../compile/compile-text.ts";
import type { KnownMetric } from "../compile/look-up.ts";
import type { CompiledExpression } from "../compile/program.ts";
import { ExpressionError, type Expression } from "../language/expression.ts";
import { parseExpression } from "../language/parse-expression.ts";
import { firstOf } from "./read-parameters.ts";

/** The catalog as a caller sees it. */
export interface CallerCatalog {
  /** One metric; undefined when no catalog has it. @throws Refusal when the caller may not read it */
  readonly lookUp: (metric: string) => KnownMetric | undefined;
  /** Ids that the caller may read. */
  readonly names: () => Iterable<string>;
}

/** Parses the expression of the parameter `query`. @throws Refusal `invalid_expression` */
export function readExpression(params: Parameters): Expression {
  const text = requireText(params);
  return teaching("query", () => parseExpression(text));
}

/** Compiles the expression of the parameter `query`. @throws Refusal `invalid_expression`, `metric_forbidden` … */
export function compileFor({ lookUp, names }: CallerCatalog, params: Parameters): CompiledExpression {
  const text = requireText(params);
  return teaching("query", () => compileText(text, lookUp, names));
}

function requireText(params: Parameters): string {
  const text = firstOf(params, "query");
  if (text !== undefined) return text;
  throw refuseField("invalid_expression", "query", 'invalid parameter "query": the request names no expression');
}

/** Runs a step over a text of a parameter. @throws Refusal `invalid_expression` that names the column and a rewrite */
export function teaching<Result>(parameter: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    if (error instanceof ExpressionError) throw refusalOf(parameter, error);
    throw error;
  }
}

function refusalOf(parameter: string, { message, column, rewrite }: ExpressionError): Refusal {
  const instead = rewrite === undefined ? "" : `; write ${rewrite}`;
  const detail = `invalid parameter "${parameter}": 1:${column}: ${message}${instead}`;
  return refuseField("invalid_expression", parameter, detail);
}
