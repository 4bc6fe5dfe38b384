import type { FieldError } from "../../errors/api-error.ts";
import { isCalendarTime } from "../events/envelope.ts";
import { fieldPath } from "../events/personal-data.ts";

/** Attributes and data of a CloudEvent: JSON texts by name. A header is a JSON string. */
export type Members = ReadonlyMap<string, string>;

/** Attributes by the fields of the envelope that hold them. */
export const attributeOf: ReadonlyMap<string, string> = new Map([
  ["event_id", "id"],
  ["ts", "time"],
  ["producer", "source"],
]);
/** Attributes that are not stored under their own name, with the data. `specversion` is always 1.0. */
const converted: ReadonlySet<string> = new Set([
  "specversion",
  "id",
  "source",
  "type",
  "time",
  "datacontenttype",
  "tenant",
  "version",
  "data",
  "data_base64",
]);
/** Fields of the envelope that have an attribute. Extensions with these names would replace it. */
const replaced: ReadonlySet<string> = new Set(["ts", "producer"]);

const nameForm = /^[a-z0-9]+$/u;
const jsonType = /^(?:application|text)\/(?:[\w.!#$&^-]+\+)?json$/iu;
const charset = /^charset="?(?<name>[^"]*)"?$/iu;
/** A URI reference of RFC 3986. A colon in its first segment follows a scheme. */
const uriForm = /^(?:[a-z][a-z0-9+.-]*:|(?![^/?#]*:))(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[0-9a-f]{2})+$/iu;
/** RFC 3339. The time zone is that of the producer. */
const timeForm = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/u;
/** In UTC it is the last second of a day. Source: RFC 3339 §5.7. */
const leapSecond = /([Tt]\d{2}:\d{2}):60/u;
const fraction = /\.(\d{1,3})\d*/u;
/** A `dataschema` whose path ends with a date, as `https://schemas.example/payout.processed/2026-01-31`. */
const schemaVersion = /\/(?<version>\d{4}-\d{2}-\d{2})(?:\.json)?$/u;
const integerMax = 2_147_483_647;

/** The media type of a `Content-Type`, without its parameters, in lower case. */
export function mediaTypeOf(contentType: string): string {
  return contentType.split(";", 1).join("").trim().toLowerCase();
}

/** True for a media type of JSON in UTF-8. */
export function isJsonMediaType(mediaType: string): boolean {
  const [type = "", ...parameters] = mediaType.split(";").map((part) => part.trim());
  const charsets = parameters.flatMap((part) => charset.exec(part)?.groups?.["name"] ?? []);
  return jsonType.test(type) && charsets.every((name) => /^utf-?8$/iu.test(name));
}

/** The rules of attributes that the envelope does not check. */
const attributeRules: readonly {
  readonly name: string;
  readonly isRequired: boolean;
  /** Completes the sentence "must be …". */
  readonly mustBe: string;
  readonly accepts: (text: string) => boolean;
}[] = [
  { name: "specversion", isRequired: true, mustBe: "1.0", accepts: (text) => text === "1.0" },
  {
    name: "source",
    isRequired: true,
    mustBe: "a URI reference of at most 128 characters, without spaces",
    accepts: (text) => uriForm.test(text),
  },
  {
    name: "time",
    isRequired: true,
    mustBe: "a time of RFC 3339, like 2026-01-31T12:00:00Z",
    accepts: (text) => utcTime(text) !== undefined,
  },
  {
    name: "datacontenttype",
    isRequired: false,
    mustBe: "a media type of JSON in UTF-8, like application/json",
    accepts: isJsonMediaType,
  },
  { name: "subject", isRequired: false, mustBe: "a text that is not empty", accepts: (text) => text !== "" },
  { name: "dataschema", isRequired: false, mustBe: "a URI reference", accepts: (text) => uriForm.test(text) },
];

export function attributeProblems(members: Members): readonly FieldError[] {
  return attributeRules.flatMap(({ name, isRequired, mustBe, accepts }) => {
    if (!members.has(name))
      return isRequired ? [problem(name, "required", `${name} is required: it must be ${mustBe}`)] : [];
    const value = textOf(members, name);
    return value !== undefined && accepts(value) ? [] : [problem(name, "invalid", `${name} must be ${mustBe}`)];
  });
}

export function extensionProblems(members: Members): readonly FieldError[] {
  return [...members].flatMap(([name, json]) => {
    if (converted.has(name)) return [];
    if (replaced.has(name))
      return [
        problem(name, "not_allowed", `the attribute ${attributeOf.get(name)} has it; remove the extension ${name}`),
      ];
    if (!nameForm.test(name))
      return [problem(name, "invalid", "names of attributes must have only lower-case letters and digits")];
    const value: unknown = JSON.parse(json);
    const isInteger = Number.isInteger(value) && Number(value) >= -integerMax - 1 && Number(value) <= integerMax;
    if (typeof value === "string" || typeof value === "boolean" || isInteger) return [];
    return [problem(name, "invalid", "an extension must be a string, a boolean or an integer of 32 bits")];
  });
}

/** The extension `version`; without it, the date at the end of `dataschema`. */
export function versionOf(members: Members, problems: FieldError[]): string | undefined {
  const dated = schemaVersion.exec(textOf(members, "dataschema") ?? "")?.groups?.["version"];
  const version = members.get("version") ?? (dated === undefined ? undefined : JSON.stringify(dated));
  const required = "version, or a dataschema whose path ends with a date like /2026-01-31, is required";
  if (version === undefined) problems.push(problem("version", "required", required));
  return version;
}

/**
 * The same time in UTC with milliseconds; finer fractions are cut. A leap second becomes the second before it, which
 * the times of envelopes and the clocks of most recipients have. Undefined for a time that does not exist.
 */
export function utcTime(text: string): string | undefined {
  const time = calendarTime(text.replace(leapSecond, "$1:59"));
  return leapSecond.test(text) && time?.includes("T23:59:59.") !== true ? undefined : time;
}

function calendarTime(text: string): string | undefined {
  if (!isCalendarTime(text.replace(/(?:[Zz]|[+-]\d{2}:\d{2})$/u, "Z").replace(fraction, ""), /^/u)) return undefined;
  if (!timeForm.test(text)) return undefined;
  const at = new Date(text.toUpperCase().replace(fraction, ".$1"));
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** A member that is a string. */
export function textOf(members: Members, name: string): string | undefined {
  const value: unknown = JSON.parse(members.get(name) ?? "null");
  return typeof value === "string" ? value : undefined;
}

/** The name of a member may contain personal data, which an error never has. */
export function problem(name: string, code: string, detail: string): FieldError {
  return { field: fieldPath([name]), code, detail };
}

/**
 * The attributes that the envelope holds under their own names, in the order of their names. Integers and booleans are
 * their strings, as headers have them, so that an event has the same bytes in both modes. Source: CloudEvents 1.0 §3.1.
 */
export function keptAttributes(members: Members): readonly (readonly [name: string, json: string])[] {
  return [...members]
    .filter(([name]) => !converted.has(name))
    .map(([name, json]) => [name, json.startsWith('"') ? json : JSON.stringify(String(JSON.parse(json)))] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}
