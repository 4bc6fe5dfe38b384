/**
 * Labels and filter values that no request may name, because they are personal data. Source: seed "Operational Metrics
 * API" §2.3.
 */

/** Persons and sessions in any spelling, compared without case and without `_`, `-`, `.` and spaces. */
const forbiddenNames = /^(?:raw)?(?:user|player|customer|client|session)(?:s|id|ids|uuid|key|name|number|no)?$/u;
/** Cards and documents: every name with such a prefix. */
const forbiddenPrefixes =
  /^(?:raw|full|bank|credit|debit|payment|identity|id)?(?:card|pan$|document|doc(?:id|no|num)|passport)/u;

const filterValueLengthMax = 200;
const cardDigitsMin = 12;
const cardDigitsMax = 19;

/** True for a label name that the seed forbids, in any spelling. */
export function isForbiddenLabel(name: string): boolean {
  const bare = name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
  return forbiddenNames.test(bare) || forbiddenPrefixes.test(bare);
}

/** The reason for which a filter value is refused, as a predicate; undefined when the value is allowed. */
export function forbiddenValue(value: string): string | undefined {
  if (value === "") return "is empty; leave the filter out or name a value";
  if (value.length > filterValueLengthMax)
    return `has ${value.length} characters, more than ${filterValueLengthMax}; name a shorter value`;
  if (!value.isWellFormed()) return "is not valid Unicode; encode it as UTF-8";
  if (value.includes("\0")) return "holds a NUL character; remove it";
  if (looksLikeCard(value)) return "looks like a card number; filter by data that is not personal";
  return looksLikeDocument(value) ? "looks like a document number; filter by data that is not personal" : undefined;
}

/**
 * Recognizes document numbers of a known form: passports (one or two letters, six to nine digits), IBANs (check digits
 * of ISO 7064), social security numbers in groups, and the Brazilian CPF.
 */
function looksLikeDocument(value: string): boolean {
  const bare = value.normalize("NFKC").trim();
  if (/^[A-Z]{1,2}\d{6,9}$/u.test(bare) || /^\d{3}-\d{2}-\d{4}$/u.test(bare)) return true;
  return isCpf(bare) || isIban(bare.replaceAll(" ", "").toUpperCase());
}

function isIban(text: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/u.test(text)) return false;
  const digits = Array.from(text.slice(4) + text.slice(0, 4), (character) => Number.parseInt(character, 36)).join("");
  return BigInt(digits) % 97n === 1n;
}

function isCpf(text: string): boolean {
  if (!/^(?:\d{11}|\d{3}\.\d{3}\.\d{3}-\d{2})$/u.test(text)) return false;
  const digits = Array.from(text.replaceAll(/\D/gu, ""), Number);
  if (digits.every((digit) => digit === digits[0])) return false;
  const check = (length: number): number => {
    const sum = digits.slice(0, length).reduce((total, digit, place) => total + digit * (length + 1 - place), 0);
    return ((sum * 10) % 11) % 10;
  };
  return check(9) === digits[9] && check(10) === digits[10];
}

/** True when a run of 12 to 19 digits, alone or in groups, passes the check of ISO/IEC 7812-1. */
function looksLikeCard(value: string): boolean {
  const runs = value.normalize("NFKC").match(/\d(?:[\s.\-_]?\d)*/gu) ?? [];
  return runs.map((run) => run.replaceAll(/\D/gu, "")).some(isCardNumber);
}

function isCardNumber(digits: string): boolean {
  if (digits.length < cardDigitsMin || digits.length > cardDigitsMax || /^0+$/u.test(digits)) return false;
  const sum = Array.from(digits)
    .reverse()
    .reduce((total, digit, position) => {
      const doubled = Number(digit) * (position % 2 === 0 ? 1 : 2);
      return total + (doubled > 9 ? doubled - 9 : doubled);
    }, 0);
  return sum % 10 === 0;
}
