import type { PersonalDataSettings } from "../../config/settings/settings.ts";
import type { FieldError } from "../../errors/refusal.ts";
import { hasCardNumber } from "./card-numbers.ts";
import type { JsonPath, JsonVisitor, PathOf } from "../../json/json-walk.ts";
import { compilePattern } from "./subscriptions.ts";

/** {@link PersonalDataSettings}, compiled. */
export interface PersonalDataRules {
  /** Names in the form that {@link normalName} gives. */
  readonly forbiddenNames: ReadonlySet<string>;
  /** Dotted paths from the event on, such as `data.order_no`; indexes of lists do not count. */
  readonly allowedPaths: ReadonlySet<string>;
  /** The same, for some types of events only. */
  readonly allowedForTypes: readonly {
    readonly matches: (type: string) => boolean;
    readonly paths: ReadonlySet<string>;
  }[];
}

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

/** Findings that are named; more would only repeat themselves. */
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
/** Of these, the fields that a producer fills as it likes. */
const searchedEnvelopeFields: ReadonlySet<string | number> = new Set(["event_id", "producer"]);

/** What looks for personal data in a text that is walked, and what it has found so far. */
export interface PersonalDataSearch extends Required<JsonVisitor> {
  readonly findings: readonly FieldError[];
}

/**
 * Looks for the fields of an event that carry personal data, by path and never with their value: fields whose name is
 * on the list, and text, integers and names that hold a card number. Looks at `data`, at `event_id` and `producer`, and
 * at everything that is not a field of the envelope. Source: seed "Webhook Event Delivery" §2.1 (evolution).
 *
 * @param type of the event, for what is allowed for some types only
 */
export function searchPersonalData(rules: PersonalDataRules, type: string): PersonalDataSearch {
  const findings: FieldError[] = [];
  const add = (path: JsonPath, code: string, detail: string): void => {
    if (findings.length < findingsMax) {
      findings.push({ field: fieldPath(path), code, detail });
    }
  };
  const scalar = (value: string, pathOf: PathOf): void => {
    if (!hasCardNumber(value)) {
      return;
    }
    const path = pathOf();
    if (isSearched(path) && !isAllowed(rules, path, type)) {
      add(path, "card_number", `The value looks like a payment card number${howToAllow(path, type)}`);
    }
  };
  return {
    findings,
    member: (name, pathOf) => {
      const finding = nameFinding(name, rules);
      const path = finding === undefined ? [] : pathOf();
      if (finding !== undefined && !isOfTheEnvelope(path)) {
        add(path, ...finding);
      }
    },
    string: scalar,
    number: (digits, pathOf) => scalar(integerDigits(digits), pathOf),
  };
}

/**
 * How a path is written in an error: `data.items[3].ref`. Names are shortened, and one that itself holds a card number
 * is a `*`, so that an error never repeats what it refuses.
 */
export function fieldPath(path: JsonPath): string {
  return path.reduce<string>((prefix, segment) => {
    if (typeof segment === "number") {
      return `${prefix}[${segment}]`;
    }
    // A cut may leave half of a character, which no parser reads as it was sent.
    const name = hasCardNumber(segment) ? "*" : segment.slice(0, nameCharactersMax).toWellFormed();
    return prefix === "" ? name : `${prefix}.${name}`;
  }, "");
}

function nameFinding(name: string, rules: PersonalDataRules): readonly [code: string, detail: string] | undefined {
  if (rules.forbiddenNames.has(normalName(name))) {
    return ["forbidden_field", "The name is on the list of personal data"];
  }
  return hasCardNumber(name) ? ["card_number", "The name looks like a payment card number"] : undefined;
}

function isOfTheEnvelope(path: JsonPath): boolean {
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

/** How settings name a field: without indexes of lists. */
function settingPath(path: JsonPath): string {
  return path.filter((segment) => typeof segment === "string").join(".");
}

/** Nothing for a field or type that an error does not repeat. */
function howToAllow(path: JsonPath, type: string): string {
  const field = settingPath(path);
  if (hasCardNumber(field) || hasCardNumber(type) || field.length > settingPathCharactersMax) {
    return "";
  }
  return (
    `; if it never is one, allow the field ${field} for the type ${type} in the settings ` +
    "(personalData.allowedForTypes)"
  );
}

/** `Card-Number`, `card number`, `card_number` and `cardNumber` are one name. */
function normalName(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/gu, "");
}

/** The digits of a number that is an integer however it is written; empty for a fraction. */
function integerDigits(text: string): string {
  if (/^-?\d+$/u.test(text)) {
    return text;
  }
  const value = Number(text);
  return Number.isSafeInteger(value) ? String(value) : "";
}
