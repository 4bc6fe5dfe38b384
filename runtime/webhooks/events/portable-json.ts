import type { FieldError } from "../../errors/refusal.ts";
import type { JsonVisitor, PathOf } from "../../json/json-walk.ts";
import { fieldPath } from "./personal-data.ts";

/** A number with at most this many characters and no exponent fits into a double. */
const safeDigitsMax = 308;
const exponentForm = /e/iu;

/**
 * Reports numbers and strings that JSON allows but parsers read differently, so that every recipient reads the same
 * value. A number beyond the range of a double is an infinity in one language and an error in another. Half of a
 * surrogate pair has no UTF-8: some parsers replace it. Source: RFC 7493 §2.1 and §2.2, RFC 8259 §8.2.
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
