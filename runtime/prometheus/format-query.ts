import { formatExpression } from "./language/format-expression.ts";
import { typeOf } from "./language/type-of.ts";
import type { PrometheusAnswer, PrometheusRequest } from "./prometheus-api.ts";
import { readExpression, teaching } from "./request/read-expression.ts";
import { success } from "./success.ts";

/** `format_query`. @throws Refusal `invalid_expression` */
export function answerFormat({ params }: PrometheusRequest): PrometheusAnswer {
  const expression = readExpression(params);
  teaching("query", () => typeOf(expression));
  return success(formatExpression(expression));
}
