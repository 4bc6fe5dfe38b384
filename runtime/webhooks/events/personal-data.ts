import { isLongNumber } from "../../../crds/event-schema/long-number.ts";
import type { PersonalDataSettings } from "../../config/settings/settings.ts";
import type { FieldError } from "../../errors/api-error.ts";
import { hasCardNumber } from "./card-numbers.ts";
import type { JsonPath, JsonVisitor, PathOf } from "../../json/json-walk.ts";
import { compilePattern } from "./subscriptions.ts";

/** {@link PersonalDataSettings}, compiled. */
export interface PersonalDataRules {
  /** Names as returned by {@link normalName}. */
  readonly forbiddenNames: ReadonlySet<string>;
  /** Dotted paths in the event, such as `data.order_no`, without indexes of lists. */
  readonly allowedPaths: ReadonlySet<string>;
  /** Further paths for some types of events. */
  readonly allowedForTypes: readonly {
    readonly matches: (type: string) => boolean;
    readonly paths: ReadonlySet<string>;
  }[];
}

/** A number with at most this many characters and no exponent fits into a double. */
const safeDigitsMax = 308;
const exponentForm = /e/iu;

/** Compiles the installation's settings. */
export function personalDataRules(settings: PersonalDataSettings): PersonalDataRules {
  return {
    forbiddenNames: new Set(settings.forbiddenFields.map(normalName)),
    allowedPaths: new Set(settings.allowedFields.map((path) => `data.${path}`)),
    allowedForTypes: settings.allowedForTypes.map(({ types, fields }) => {
      const patterns = types.map(compilePattern);
      return { matches: (type) => patterns.some((matches) => matches(type)), paths: new Set(fields) };
    }),
  };
}

/** Maximum number of reported findings. */
const findingsMax = 20;
const nameCharactersMax = 64;
const settingPathCharactersMax = 256;

/** Fields of the envelope. Source: seed "Webhook Event Delivery" §2.1. */
const envelopeFields: ReadonlySet<string | number> = new Set([
  "event_id",
  "type",
  "version",
  "ts",
  "tenant",
  "producer",
]);
/** Of these, the fields with free text of the producer. */
const searchedEnvelopeFields: ReadonlySet<string | number> = new Set(["event_id", "producer"]);

/** A visitor that searches JSON for personal data, with its findings. */
export interface PersonalDataSearch extends Required<JsonVisitor> {
  readonly findings: readonly FieldError[];
}

/**
 * Searches an event for personal data: fields with a forbidden name, and strings, integers and names with a card
 * number. It searches `data`, `event_id`, `producer` and all fields outside of the envelope. Findings contain the path,
 * never the value. Source: seed "Webhook Event Delivery" §2.1 (evolution).
 *
 * @param type the type of the event, for fields that are allowed for some types
 */
export function searchPersonalData(rules: PersonalDataRules, type: string): PersonalDataSearch {
  const findings: FieldError[] = [];
  const add = (path: JsonPath, code: string, detail: string): void => {
    if (findings.length < findingsMax) findings.push({ field: fieldPath(path), code, detail });
  };
  const scalar = (value: string, pathOf: PathOf): void => {
    if (!hasCardNumber(value)) return;
    const path = pathOf();
    if (isSearched(path) && !isAllowed(rules, path, type))
      add(path, "card_number", `The value looks like a payment card number${howToAllow(path, type)}`);
  };
  return {
    findings,
    member: (name, pathOf) => {
      const finding = nameFinding(name, rules);
      const path = finding === undefined ? [] : pathOf();
      if (finding !== undefined && !isEnvelopeMember(path)) add(path, ...finding);
    },
    string: scalar,
    number: (digits, pathOf) => scalar(integerDigits(digits), pathOf),
  };
}

/**
 * The text of a path in an error, such as `data.items[3].ref`. Long names are cut, and a name with a card number
 * becomes `*`, so that an error never contains personal data.
 */
export function fieldPath(path: JsonPath): string {
  return path.reduce<string>((prefix, segment) => {
    if (typeof segment === "number") return `${prefix}[${segment}]`;
    // The cut may split a surrogate pair.
    const name = hasCardNumber(segment) ? "*" : segment.slice(0, nameCharactersMax).toWellFormed();
    return prefix === "" ? name : `${prefix}.${name}`;
  }, "");
}

function nameFinding(name: string, rules: PersonalDataRules): readonly [code: string, detail: string] | undefined {
  if (rules.forbiddenNames.has(normalName(name)))
    return ["forbidden_field", "The name is on the list of personal data fields"];
  return hasCardNumber(name) ? ["card_number", "The name looks like a payment card number"] : undefined;
}

function isEnvelopeMember(path: JsonPath): boolean {
  return isEnvelopeField(path) || (path.length === 1 && path[0] === "data");
}

function isEnvelopeField(path: JsonPath): boolean {
  return path.length === 1 && envelopeFields.has(path[0] ?? "");
}

function isSearched(path: JsonPath): boolean {
  return !isEnvelopeField(path) || searchedEnvelopeFields.has(path[0] ?? "");
}

function isAllowed({ allowedPaths, allowedForTypes }: PersonalDataRules, path: JsonPath, type: string): boolean {
  const name = settingPath(path);
  return allowedPaths.has(name) || allowedForTypes.some(({ matches, paths }) => paths.has(name) && matches(type));
}

/** The path of a field in settings, without indexes of lists. */
function settingPath(path: JsonPath): string {
  return path.filter((segment) => typeof segment === "string").join(".");
}

/** The advice for an error; empty when the field or type contains a card number or is too long. */
function howToAllow(path: JsonPath, type: string): string {
  const field = settingPath(path);
  if (hasCardNumber(field) || hasCardNumber(type) || field.length > settingPathCharactersMax) return "";
  return (
    `; if it never contains one, allow the field ${field} for the type ${type} in the settings ` +
    "(personalData.allowedForTypes)"
  );
}

/** Maps `Card-Number`, `card number`, `card_number` and `cardNumber` to one name. */
function normalName(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/gu, "");
}

/** The digits of an integer in any notation; empty for a fraction. */
function integerDigits(text: string): string {
  if (/^-?\d+$/u.test(text)) return text;
  const value = Number(text);
  return Number.isSafeInteger(value) ? String(value) : "";
}

interface UnportableSearch extends Required<JsonVisitor> {
  /** Whether a double would round a number that was visited. */
  readonly hasLongNumbers: () => boolean;
}

/**
 * Reports numbers and strings that JSON allows but parsers read differently, so that every recipient reads the same
 * value. A number beyond the range of a double is an infinity in one language and an error in another. Half of a
 * surrogate pair has no UTF-8: some parsers replace it. Source: RFC 7493 §2.1 and §2.2, RFC 8259 §8.2.
 */
export function searchUnportable(report: (problem: FieldError) => void): UnportableSearch {
  let hasLong = false;
  const checkText = (text: string, pathOf: PathOf): void => {
    if (text.isWellFormed()) return;
    const detail = "The string contains an unpaired surrogate, which UTF-8 cannot encode; send complete characters";
    report({ field: fieldPath(pathOf()), code: "lone_surrogate", detail });
  };
  return {
    member: checkText,
    string: checkText,
    hasLongNumbers: () => hasLong,
    number: (digits, pathOf) => {
      hasLong ||= isLongNumber(digits);
      if (isFiniteDouble(digits)) return;
      const detail = "The number exceeds the range of an IEEE 754 double; send it as a string";
      report({ field: fieldPath(pathOf()), code: "number_too_large", detail });
    },
  };
}

function isFiniteDouble(digits: string): boolean {
  const mayBeLarge = digits.length > safeDigitsMax || exponentForm.test(digits);
  return !mayBeLarge || Number.isFinite(Number(digits));
}
