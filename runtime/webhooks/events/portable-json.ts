import type { FieldError } from "../../errors/refusal.ts";
import type { JsonVisitor, PathOf } from "../../json/json-walk.ts";
import { fieldPath } from "./personal-data.ts";

/** No number with fewer digits and no exponent is beyond a double. */
const safeDigitsMax = 308;
const exponentForm = /e/iu;

/**
 * Reports numbers and text that JSON allows and parsers read differently, so that each recipient reads what the
 * producer sent. A number beyond every double is an infinity in one language and an error in another. Half of a
 * surrogate pair has no UTF-8: one parser replaces it, another keeps it. Source: RFC 7493 §2.1 and §2.2, RFC 8259 §8.2.
 */
export function searchUnportable(report: (problem: FieldError) => void): Required<JsonVisitor> {
  const checkText = (text: string, pathOf: PathOf): void => {
    if (text.isWellFormed()) return;
    const detail = "The text holds half of a surrogate pair, which UTF-8 cannot carry; send whole characters";
    report({ field: fieldPath(pathOf()), code: "lone_surrogate", detail });
  };
  return {
    member: checkText,
    string: checkText,
    number: (digits, pathOf) => {
      if (isFiniteDouble(digits)) return;
      const detail = "The number is beyond every IEEE 754 double; send it as a string";
      report({ field: fieldPath(pathOf()), code: "number_too_large", detail });
    },
  };
}

function isFiniteDouble(digits: string): boolean {
  const mayBeLarge = digits.length > safeDigitsMax || exponentForm.test(digits);
  return !mayBeLarge || Number.isFinite(Number(digits));
}
